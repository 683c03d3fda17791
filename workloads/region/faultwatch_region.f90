! The region of interest for Fortran programs. Compile faultwatch_region.c with a C compiler and link it too.
module faultwatch_region
  implicit none
  private
  public :: faultwatch_region_begin, faultwatch_region_end

  interface
    subroutine faultwatch_region_begin() bind(C, name='faultwatch_begin')
    end subroutine
    subroutine faultwatch_region_end() bind(C, name='faultwatch_end')
    end subroutine
  end interface
end module
