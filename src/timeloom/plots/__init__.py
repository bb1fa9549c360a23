"""Pictures of tables with periods."""
