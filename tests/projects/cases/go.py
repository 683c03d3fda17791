"""Go, whose tool keeps its cache in HOME, and whose programs load no library and have threads."""

from tests.projects.project import FEW, MOVED, Project, grow_by, workload

TOOLS = ("go",)
SPREAD = 40
"""The runtime starts its threads when it likes."""
FILES = {
    "go.mod": "module example.invalid/program\n\ngo 1.18\n",
    "main.go": """package main

import "syscall"

func main() {
	memory, err := syscall.Mmap(-1, 0, Pages*4096, syscall.PROT_READ|syscall.PROT_WRITE,
		syscall.MAP_PRIVATE|syscall.MAP_ANON)
	if err != nil {
		panic(err)
	}
	for page := 0; page < Pages; page++ {
		memory[page*4096] = 1
	}
}
""",
    "workload.toml": workload("go build -o program .", "./program"),
}


def grow(project: Project) -> None:
    """Change a constant."""
    source = "package main\n\nconst Pages = {}\n"
    grow_by(project, FILES, "pages.go", source.format(FEW), source.format(FEW + MOVED), neutral=10)
