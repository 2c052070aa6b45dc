"""Where jobs run: in local processes or on a Dask cluster."""
