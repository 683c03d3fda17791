program driver
    use, intrinsic :: iso_fortran_env, only: wp => real64
    use bspline_module
    implicit none
    integer, parameter :: n = 60
    type(bspline_3d) :: spline
    real(wp) :: x(n), value, total
    real(wp), allocatable :: f(:, :, :)
    integer :: i, j, k, flag
    allocate (f(n, n, n))
    do i = 1, n
        x(i) = real(i, wp) / n
    end do
    do k = 1, n
        do j = 1, n
            do i = 1, n
                f(i, j, k) = x(i) * x(j) + x(k) * x(k)
            end do
        end do
    end do
    call spline%initialize(x, x, x, f, 4, 4, 4, flag)
    if (flag /= 0 .and. flag /= 1) error stop 1
    total = 0
    do i = 1, 20000
        call spline%evaluate(x(3) + i * 4.0e-5_wp, x(5), x(7), 0, 0, 0, value, flag)
        total = total + value
    end do
    call spline%destroy()
    if (total == 0) error stop 2
end program driver
