! gfortran: -O2 -g -static
! Cards with numbers and names, written and read by format, sorted by recursion, and kept in allocatable types with bound procedures.
module cards
  implicit none
  type :: card
    character(12) :: name
    integer :: year
    real :: price
  contains
    procedure :: worth => plain_worth
  end type
  type, extends(card) :: rare
    real :: factor = 1.5
  contains
    procedure :: worth => rare_worth
  end type
  type :: held
    class(card), allocatable :: is
  end type
contains
  real function plain_worth(self)
    class(card), intent(in) :: self
    plain_worth = self%price
    if (self%year < 1950) plain_worth = plain_worth * 1.1
  end function

  real function rare_worth(self)
    class(rare), intent(in) :: self
    rare_worth = self%price * self%factor + (2000 - self%year) / 10
  end function

  recursive subroutine sort(keys, order)
    character(*), intent(in) :: keys(:)
    integer, intent(inout) :: order(:)
    integer :: i, j, t
    character(len(keys)) :: pivot
    if (size(order) < 2) return
    pivot = keys(order((size(order) + 1) / 2))
    i = 1
    j = size(order)
    do
      do while (keys(order(i)) < pivot)
        i = i + 1
      end do
      do while (pivot < keys(order(j)))
        j = j - 1
      end do
      if (i > j) exit
      t = order(i); order(i) = order(j); order(j) = t
      i = i + 1
      j = j - 1
    end do
    call sort(keys, order(:j))
    call sort(keys, order(i:))
  end subroutine

  function upper(text) result(out)
    character(*), intent(in) :: text
    character(len(text)) :: out
    integer :: i, c
    do i = 1, len(text)
      c = iachar(text(i:i))
      if (c >= iachar('a') .and. c <= iachar('z')) c = c - 32
      out(i:i) = achar(c)
    end do
  end function
end module

program main
  use cards
  implicit none
  integer, parameter :: n = 500
  character(40) :: lines(n)
  character(12) :: names(n)
  integer :: order(n), i, j, seed, year, length, bad
  real :: price, total
  type(held) :: all(n)
  seed = 99
  do i = 1, n
    names(i) = ' '
    seed = iand(seed * 1103515 + 12345, 1073741823)
    length = 3 + mod(seed / 1024, 8)
    do j = 1, length
      seed = iand(seed * 1103515 + 12345, 1073741823)
      names(i)(j:j) = achar(97 + mod(seed / 1024, 11))
    end do
    write (lines(i), '(a12, i6, f10.2)') names(i), 1900 + mod(seed / 4096, 120), mod(seed / 128, 10000) / 7.0
    if (mod(seed / 2048, 17) == 0) lines(i)(14:14) = 'x'
  end do
  bad = 0
  total = 0
  do i = 1, n
    read (lines(i), '(a12, i6, f10.2)', iostat=j) names(i), year, price
    if (j /= 0) then
      bad = bad + 1
      year = 0
      price = 0
    end if
    if (index(names(i), 'ab') > 0 .or. scan(names(i), 'k') > 5) then
      allocate (all(i)%is, source=rare(upper(names(i)), year, price))
    else
      allocate (all(i)%is, source=card(names(i), year, price))
    end if
    order(i) = i
  end do
  call sort(names, order)
  do j = 1, 100
    do i = 1, n
      total = total + all(order(i))%is%worth() * merge(1.0, 0.5, verify(trim(all(i)%is%name), 'abcdefghijk') == 0)
    end do
  end do
  do i = 1, n, 5
    print '(a, 1x, i0, f10.2)', trim(all(order(i))%is%name), all(order(i))%is%year, all(order(i))%is%worth()
  end do
  print *, bad, total
end program
