"""One file per scene, the data types they share (``base``) and what they draw with (``draw``)."""
