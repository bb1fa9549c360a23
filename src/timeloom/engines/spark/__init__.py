"""The Spark engine: the same verbs as plans over DataFrames."""
