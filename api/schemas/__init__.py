"""What goes over the wire, as it is documented."""
