"""Fortran by CMake: modules are compiled in their own order, and the run-time library comes from the compiler."""

from tests.projects.project import FEW, MOVED, Project, grow_by, workload

TOOLS = ("cmake", "gfortran")
FILES = {
    "CMakeLists.txt": """cmake_minimum_required(VERSION 3.13)
project(program Fortran)
add_library(fields SHARED fields.f90)
add_executable(program main.f90)
target_link_libraries(program fields)
""",
    "main.f90": """program main
  use fields
  call fill()
end program main
""",
    "workload.toml": workload("sh -c 'cmake -B build . && cmake --build build'", "build/program"),
}
SOURCE = """module fields
  implicit none
contains
  subroutine fill()
    integer(kind=1), allocatable, volatile :: field(:)
    integer :: page
    allocate(field({} * 4096))
    do page = 0, {} - 1
      field(page * 4096 + 1) = 1
    end do
    deallocate(field)
  end subroutine fill
end module fields
"""


def grow(project: Project) -> None:
    """Change a module of the library."""
    few, many = (SOURCE.replace("{}", str(pages)) for pages in (FEW, FEW + MOVED))
    grow_by(project, FILES, "fields.f90", few, many)
