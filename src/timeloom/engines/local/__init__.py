"""The local engine: Arrow tables in, kernels, Arrow tables out."""
