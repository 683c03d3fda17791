program setup ! Sets up three matrices of 8 MB in each step: setup per_step|once STEPS
  use, intrinsic :: iso_fortran_env, only: int64, real64
  implicit none
  real(real64), allocatable :: a(:, :, :), b(:, :, :), c(:, :, :)
  character(20) :: storage, text
  integer :: steps, step, k
  integer(int64) :: start, finish, rate
  call get_command_argument(1, storage); call get_command_argument(2, text); read (text, *) steps
  call system_clock(start, rate)
  do step = 1, steps
    if (.not. allocated(a)) allocate (a(100, 100, 100), b(100, 100, 100), c(100, 100, 100))
    !$omp parallel do
    do k = 1, 100
      a(:, :, k) = step; b(:, :, k) = 2 * step; c(:, :, k) = a(:, :, k) + b(:, :, k)
    end do
    if (storage == 'per_step') deallocate (a, b, c)
  end do
  call system_clock(finish)
  print '(a, i0, a, f12.6, a)', '{"operations": ', steps, ', "seconds": ', real(finish - start) / rate, '}'
end program
