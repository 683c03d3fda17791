"""Jobs: what is ordered from hosts, who has it, and what becomes of it where nobody is heard of any more."""
