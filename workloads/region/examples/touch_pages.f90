! Touches N pages of a fresh array inside the region. The array's ends may share a page with the allocator's own data,
! so both are touched before: perf counts exactly the pages in between.
program touch_pages
  use, intrinsic :: iso_c_binding, only: c_int, c_intptr_t, c_loc
  use faultwatch_region, only: faultwatch_region_begin, faultwatch_region_end
  implicit none
  interface
    integer(c_int) function getpagesize() bind(c)
      import :: c_int
    end function
  end interface
  integer(c_intptr_t) :: page
  character(len=20) :: argument
  character(len=1), allocatable, target :: memory(:)
  integer(c_intptr_t) :: wanted, i, first, last, pages

  page = getpagesize()
  wanted = 1000
  if (command_argument_count() > 0) then
    call get_command_argument(1, argument)
    read (argument, *) wanted
  end if
  allocate (memory((wanted + 1) * page))
  memory(1) = 'a'
  memory(size(memory)) = 'z'
  first = transfer(c_loc(memory(1)), first) / page
  last = transfer(c_loc(memory(size(memory))), last) / page
  pages = last - first - 1

  call faultwatch_region_begin()
  do i = 1, size(memory, kind=c_intptr_t), page
    memory(i) = 'x'
  end do
  call faultwatch_region_end()

  print '(a, i0, a, i0, a)', '{"operations": 1, "pages": ', pages, ', "faults": ', pages, '}'
end program
