"""IDX files of bytes."""

import struct

import numpy as np


def idx_bytes(values):
    values = np.asarray(values, np.uint8)
    return struct.pack(f">2xBB{values.ndim}I", 8, values.ndim, *values.shape) + values.tobytes()
