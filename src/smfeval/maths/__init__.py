"""Arrays in, arrays out, any leading axes. Knows no track, no file and no convention switch."""
