program rows
  implicit none
  real(8), allocatable :: values(:, :), other(:, :)
  integer :: i
  allocate(values(200, 200), other(200, 200))
  do i = 1, 200
    values(:, i) = real(i, 8)
  end do
  other = matmul(values, transpose(values))
  print '(F20.3)', sum(other)
end program rows
