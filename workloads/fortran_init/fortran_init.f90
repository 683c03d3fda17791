! Sets up three-dimensional matrices of doubles, step after step, as the initprm routine of a molecular-dynamics program
! does. Where the matrices live decides how often their pages are faulted in:
!   per_step   allocated and deallocated by each step
!   once       allocated by the first step
!   static     part of the program
program fortran_init
  use, intrinsic :: iso_c_binding, only: c_double, c_int, c_intptr_t, c_loc
  use, intrinsic :: iso_fortran_env, only: int64
  use faultwatch_region, only: faultwatch_region_begin, faultwatch_region_end
  implicit none

  integer, parameter :: n = 100, matrices = 3
  integer(c_intptr_t) :: page
  type matrix
    real(c_double), allocatable :: values(:, :, :)
  end type
  type(matrix), save :: owned(matrices)
  real(c_double), save, target :: fixed(n, n, n, matrices)

  interface
    integer(c_int) function getpagesize() bind(c)
      import :: c_int
    end function
  end interface

  character(len=20) :: storage, argument
  integer :: steps, step
  integer(int64) :: start, finish, rate, pages
  integer(c_intptr_t) :: bytes
  real(c_double) :: checksum, seconds

  storage = 'per_step'
  steps = 20
  if (command_argument_count() > 0) call get_command_argument(1, storage)
  if (command_argument_count() > 1) then
    call get_command_argument(2, argument)
    read (argument, *) steps
  end if

  checksum = 0
  page = getpagesize()
  bytes = int(n, c_intptr_t)**3 * 8
  pages = matrices * ((bytes + page - 1) / page)
  if (storage == 'static') then
    pages = pages_between(fixed)
  else if (storage /= 'per_step' .and. storage /= 'once') then
    error stop 'storage is one of per_step, once, static'
  end if
  call system_clock(start, rate)

  call faultwatch_region_begin()
  call system_clock(start)
  do step = 1, steps
    select case (storage)
    case ('per_step')
      call allocate_all()
      call set_up_owned(step)
      call deallocate_all()
    case ('once')
      if (step == 1) call allocate_all()
      call set_up_owned(step)
    case default
      call initprm(fixed(:, :, :, 1), step)
      call initprm(fixed(:, :, :, 2), step)
      call initprm(fixed(:, :, :, 3), step)
      checksum = checksum + fixed(n, n, n, 1) + fixed(n, n, n, 2) + fixed(n, n, n, 3)
    end select
  end do
  call system_clock(finish)
  call faultwatch_region_end()

  seconds = real(finish - start, c_double) / real(rate, c_double)
  write (*, '(a, i0, a, es12.6, a, i0, a, f0.1, a, i0)', advance='no') '{"operations": ', steps, ', "seconds": ', &
    seconds, ', "bytes": ', steps * matrices * bytes, ', "checksum": ', checksum, ', "pages": ', pages
  if (storage == 'static') write (*, '(a, i0)', advance='no') ', "faults": ', pages
  write (*, '(a)') '}'

contains

  subroutine initprm(values, step)
    real(c_double), intent(out) :: values(n, n, n)
    integer, intent(in) :: step
    integer :: k

    do k = 1, n
      values(:, :, k) = real(k + step, c_double)
    end do
  end subroutine

  subroutine allocate_all()
    integer :: i

    do i = 1, matrices
      allocate (owned(i)%values(n, n, n))
    end do
  end subroutine

  subroutine deallocate_all()
    integer :: i

    do i = 1, matrices
      deallocate (owned(i)%values)
    end do
  end subroutine

  subroutine set_up_owned(step)
    integer, intent(in) :: step
    integer :: i

    do i = 1, matrices
      call initprm(owned(i)%values, step)
      checksum = checksum + owned(i)%values(n, n, n)
    end do
  end subroutine

  ! Pages that lie wholly between the ends of an array. The pages of its ends may hold other data too: touch them now.
  integer(int64) function pages_between(values)
    real(c_double), intent(inout), target :: values(n, n, n, matrices)
    integer(c_intptr_t) :: first, last

    values(1, 1, 1, 1) = 1
    values(n, n, n, matrices) = 1
    first = transfer(c_loc(values(1, 1, 1, 1)), first) / page
    last = transfer(c_loc(values(n, n, n, matrices)), last) / page
    pages_between = last - first - 1
  end function
end program
