! gfortran: -O2 -g -static
! A flow on a grid: stencils, whole-array expressions, reductions, and a matrix that is solved.
module grids
  implicit none
  integer, parameter :: n = 48
  type cell
    real(8) :: speed, density
    integer :: kind
  end type
contains
  subroutine relax(a, b, walls, moved)
    real(8), intent(in) :: a(:, :)
    real(8), intent(out) :: b(:, :)
    logical, intent(in) :: walls(:, :)
    real(8), intent(out) :: moved
    integer :: i, j
    b = a
    do j = 2, size(a, 2) - 1
      do i = 2, size(a, 1) - 1
        if (walls(i, j)) cycle
        b(i, j) = 0.25d0 * (a(i - 1, j) + a(i + 1, j) + a(i, j - 1) + a(i, j + 1))
      end do
    end do
    moved = maxval(abs(b - a))
  end subroutine

  pure real(8) function drag(c)
    type(cell), intent(in) :: c
    select case (c%kind)
    case (0)
      drag = c%speed * c%density
    case (1:3)
      drag = sqrt(c%speed + 1d0) / c%density
    case (4)
      drag = exp(-c%speed)
    case default
      drag = 0d0
    end select
  end function

  subroutine solve(m, x, ok)
    real(8), intent(inout) :: m(:, :), x(:)
    logical, intent(out) :: ok
    real(8) :: row(size(x)), t
    integer :: i, j, p, k
    k = size(x)
    ok = .true.
    do i = 1, k
      p = i - 1 + maxloc(abs(m(i:, i)), dim=1)
      if (abs(m(p, i)) < 1d-12) then
        ok = .false.
        return
      end if
      if (p /= i) then
        row = m(i, :); m(i, :) = m(p, :); m(p, :) = row
        t = x(i); x(i) = x(p); x(p) = t
      end if
      do j = i + 1, k
        t = m(j, i) / m(i, i)
        if (t == 0d0) cycle
        m(j, i:) = m(j, i:) - t * m(i, i:)
        x(j) = x(j) - t * x(i)
      end do
    end do
    do i = k, 1, -1
      x(i) = (x(i) - dot_product(m(i, i + 1:), x(i + 1:))) / m(i, i)
    end do
  end subroutine
end module

program flow
  use grids
  implicit none
  real(8) :: a(n, n), b(n, n), moved, m(40, 40), x(40), total
  logical :: walls(n, n), ok
  type(cell) :: cells(n)
  integer :: i, j, step, seed
  seed = 4711
  do j = 1, n
    do i = 1, n
      seed = iand(seed * 1103515 + 12345, 1073741823)
      walls(i, j) = mod(seed / 512, 7) == 0
      a(i, j) = merge(1d0, 0d0, walls(i, j)) * mod(seed / 64, 100)
    end do
  end do
  total = 0
  do step = 1, 40
    call relax(a, b, walls, moved)
    if (moved < 1d-3) exit
    a = b
    do i = 1, n
      cells(i) = cell(a(i, step), 1d0 + count(walls(:, i)), mod(i + step, 6))
    end do
    do i = 1, n
      total = total + drag(cells(i))
    end do
  end do
  do step = 1, 6
    m = matmul(transpose(a(1:40, 1:40)), a(step:step + 39, 1:40))
    do i = 1, 40
      m(i, i) = m(i, i) + 40d0
    end do
    x = sum(a(1:40, 1:40), dim=2)
    call solve(m, x, ok)
    if (ok) total = total + sum(x, mask=x > 0)
  end do
  print '(a, f18.6)', 'total ', total
end program
