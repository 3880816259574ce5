(* ocamlopt: -g -ccopt -static *)
(* Terms matched on, simplified until nothing changes, derived, and run by a machine of closures and one of instructions. *)
type term =
  | Const of int
  | Var of string
  | Add of term * term
  | Mul of term * term
  | Neg of term
  | Pow of term * int
  | Let of string * term * term
  | If of term * term * term

let rec simplify t =
  match t with
  | Const _ | Var _ -> t
  | Add (Const 0, x) | Add (x, Const 0) -> simplify x
  | Add (Const a, Const b) -> Const (a + b)
  | Add (x, Neg y) when x = y -> Const 0
  | Add (x, y) -> Add (simplify x, simplify y)
  | Mul (Const 0, _) | Mul (_, Const 0) -> Const 0
  | Mul (Const 1, x) | Mul (x, Const 1) -> simplify x
  | Mul (Const a, Const b) -> Const (a * b land 0xffff)
  | Mul (Neg x, Neg y) -> Mul (simplify x, simplify y)
  | Mul (x, y) -> Mul (simplify x, simplify y)
  | Neg (Neg x) -> simplify x
  | Neg (Const a) -> Const (-a)
  | Neg x -> Neg (simplify x)
  | Pow (_, 0) -> Const 1
  | Pow (x, 1) -> simplify x
  | Pow (x, n) -> Pow (simplify x, n)
  | Let (_, _, (Const _ as body)) -> body
  | Let (v, x, body) -> Let (v, simplify x, simplify body)
  | If (Const 0, _, y) -> simplify y
  | If (Const _, x, _) -> simplify x
  | If (c, x, y) -> If (simplify c, simplify x, simplify y)

let rec settled n t =
  let next = simplify t in
  if n = 0 || next = t then t else settled (n - 1) next

let rec derive v = function
  | Const _ -> Const 0
  | Var w -> Const (if v = w then 1 else 0)
  | Add (x, y) -> Add (derive v x, derive v y)
  | Mul (x, y) -> Add (Mul (derive v x, y), Mul (x, derive v y))
  | Neg x -> Neg (derive v x)
  | Pow (x, n) -> Mul (Mul (Const n, Pow (x, n - 1)), derive v x)
  | Let (w, x, body) -> Let (w, x, derive v body)
  | If (c, x, y) -> If (c, derive v x, derive v y)

type env = (string * int) list

let rec power x = function 0 -> 1 | n -> x * power x (n - 1) land 0xffff

(* A term as a function of its variables. *)
let rec staged t : env -> int =
  match t with
  | Const a -> fun _ -> a
  | Var v -> fun env -> ( try List.assoc v env with Not_found -> 0)
  | Add (x, y) ->
      let x = staged x and y = staged y in
      fun env -> x env + y env
  | Mul (x, y) ->
      let x = staged x and y = staged y in
      fun env -> x env * y env land 0xffff
  | Neg x ->
      let x = staged x in
      fun env -> -x env
  | Pow (x, n) ->
      let x = staged x in
      fun env -> power (x env) n
  | Let (v, x, body) ->
      let x = staged x and body = staged body in
      fun env -> body ((v, x env) :: env)
  | If (c, x, y) ->
      let c = staged c and x = staged x and y = staged y in
      fun env -> if c env <> 0 then x env else y env

type code = Push of int | Load of int | Plus | Times | Minus | Raise of int | Jump of int | Unless of int | Stop

let compiled t =
  let code = ref [||] in
  let emit c = code := Array.append !code [| c |] in
  let rec go = function
    | Const a -> emit (Push a)
    | Var v -> emit (Load (Char.code v.[0] land 7))
    | Add (x, y) -> go x; go y; emit Plus
    | Mul (x, y) -> go x; go y; emit Times
    | Neg x -> go x; emit Minus
    | Pow (x, n) -> go x; emit (Raise n)
    | Let (_, _, body) -> go body
    | If (c, x, y) ->
        go c;
        let at = Array.length !code in
        emit Stop; go x;
        let over = Array.length !code in
        emit Stop;
        !code.(at) <- Unless (Array.length !code);
        go y;
        !code.(over) <- Jump (Array.length !code)
  in
  go t; emit Stop; !code

let run code slots =
  let stack = Array.make 256 0 in
  let rec step at top =
    match code.(at) with
    | Push a -> stack.(top) <- a; step (at + 1) (top + 1)
    | Load v -> stack.(top) <- slots.(v); step (at + 1) (top + 1)
    | Plus -> stack.(top - 2) <- stack.(top - 2) + stack.(top - 1); step (at + 1) (top - 1)
    | Times -> stack.(top - 2) <- stack.(top - 2) * stack.(top - 1) land 0xffff; step (at + 1) (top - 1)
    | Minus -> stack.(top - 1) <- -stack.(top - 1); step (at + 1) top
    | Raise n -> stack.(top - 1) <- power stack.(top - 1) n; step (at + 1) top
    | Jump to_ -> step to_ top
    | Unless to_ -> step (if stack.(top - 1) = 0 then to_ else at + 1) (top - 1)
    | Stop -> stack.(top - 1)
  in
  step 0 0

let state = ref 4711

let next bound =
  state := ((!state * 1103515245) + 12345) land 0x3fffffff;
  (!state lsr 9) mod bound

let rec made depth =
  if depth = 0 then if next 3 = 0 then Const (next 4) else Var (String.make 1 "abcd".[next 4])
  else
    match next 12 with
    | 0 | 1 | 2 | 3 -> Add (made (depth - 1), made (depth - 1))
    | 4 | 5 | 6 -> Mul (made (depth - 1), made (depth - 1))
    | 7 -> Neg (made (depth - 1))
    | 8 -> Pow (made (depth - 1), next 4)
    | 9 -> Let ("a", made (depth - 1), made (depth - 1))
    | 10 -> If (made (depth - 1), made (depth - 1), made (depth - 1))
    | _ -> made (depth - 1)

let rec size = function
  | Const _ | Var _ -> 1
  | Add (x, y) | Mul (x, y) | Let (_, x, y) -> 1 + size x + size y
  | Neg x | Pow (x, _) -> 1 + size x
  | If (c, x, y) -> 1 + size c + size x + size y

let () =
  let sum = ref 0 and sizes = ref 0 in
  for _ = 1 to 60 do
    let t = settled 10 (made 7) in
    let d = settled 10 (derive "b" t) in
    sizes := !sizes + size t + size d;
    let f = staged d and code = compiled t in
    for i = 0 to 20 do
      sum := !sum + f [ ("c", i); ("b", i * i); ("a", 3); ("d", 2 * i) ];
      sum := !sum + run code [| 0; 3; i * i; i; 2 * i; 0; 0; 0 |]
    done
  done;
  Printf.printf "%d %d\n" !sum !sizes
