"""HTTP server: uvicorn with bounds on connections, heads and slow clients."""
