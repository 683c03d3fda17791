print "hello from an interpreter\n";
