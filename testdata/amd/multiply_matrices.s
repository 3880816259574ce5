# multiply_matrices of simple_classic.cpp as Microsoft's compiler translated it, without optimization: the listing in
# appendix B of P. J. Drongowski, "Instruction-Based Sampling: A New Performance Analysis Technique for AMD Family 10h
# Processors", AMD, 16 November 2007.
#
#   as --32 -o multiply_matrices.o multiply_matrices.s
#   ld -m elf_i386 -Ttext=0x401140 -e multiply_matrices --build-id=none -o multiply_matrices multiply_matrices.o
    .intel_syntax noprefix
    .text
    .globl multiply_matrices
    .type multiply_matrices, @function
multiply_matrices:
    push ebp
    mov ebp, esp
    sub esp, 0x10
    push esi
    mov dword ptr [ebp-4], 0
    jmp 2f
1:  mov eax, dword ptr [ebp-4]
    add eax, 1
    mov dword ptr [ebp-4], eax
2:  cmp dword ptr [ebp-4], 1000
    jge 9f
    mov dword ptr [ebp-8], 0
    jmp 4f
3:  mov ecx, dword ptr [ebp-8]
    add ecx, 1
    mov dword ptr [ebp-8], ecx
4:  cmp dword ptr [ebp-8], 1000
    jge 8f
    mov dword ptr [ebp-0x0c], 0
    mov dword ptr [ebp-0x10], 0
    jmp 6f
5:  mov edx, dword ptr [ebp-0x10]
    add edx, 1
    mov dword ptr [ebp-0x10], edx
6:  cmp dword ptr [ebp-0x10], 1000
    jge 7f
    mov eax, dword ptr [ebp-4]
    imul eax, eax, 4000
    mov ecx, dword ptr [ebp-0x10]
    imul ecx, ecx, 4000
    mov edx, dword ptr [ebp-0x10]
    mov esi, dword ptr [ebp-8]
    fld dword ptr [eax+edx*4+0x413fe0]
    fmul dword ptr [ecx+esi*4+0x7e48e8]
    fadd dword ptr [ebp-0x0c]
    fstp dword ptr [ebp-0x0c]
    jmp 5b
7:  mov eax, dword ptr [ebp-4]
    imul eax, eax, 4000
    mov ecx, dword ptr [ebp-8]
    mov edx, dword ptr [ebp-0x0c]
    mov dword ptr [eax+ecx*4+0x0bb51e8], edx
    jmp 3b
8:  jmp 1b
9:  pop esi
    mov esp, ebp
    pop ebp
    ret
    .size multiply_matrices, . - multiply_matrices
