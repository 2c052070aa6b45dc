"""IDX files of arrays."""

import struct

import numpy as np

CODES = {"u1": 0x08, "i1": 0x09, "i2": 0x0B, "i4": 0x0C, "f4": 0x0D, "f8": 0x0E}


def idx_bytes(values, kind="u1"):
    values = np.asarray(values, kind)
    header = struct.pack(f">2xBB{values.ndim}I", CODES[kind], values.ndim, *values.shape)
    return header + values.astype(f">{kind}").tobytes()
