(* ocamlopt: -g -inline 40 -unsafe -ccopt -static *)
(* Maps, lists and hash tables handed to functions of higher order; what is not found is an exception. *)
module Words = Map.Make (String)

let state = ref 12345

let next bound =
  state := ((!state * 1103515245) + 12345) land 0x3fffffff;
  (!state lsr 8) mod bound

let word () = String.init (1 + next 5) (fun _ -> Char.chr (97 + next 9))

let rec primes = function
  | [] -> []
  | p :: rest -> p :: primes (List.filter (fun n -> n mod p <> 0) rest)

let rec upto a b = if a > b then [] else a :: upto (a + 1) b

let counted words =
  List.fold_left
    (fun map w -> Words.add w (1 + try Words.find w map with Not_found -> 0) map)
    Words.empty words

let grouped words =
  let table = Hashtbl.create 64 in
  List.iter
    (fun w ->
      let key = String.length w, w.[0] in
      match Hashtbl.find_opt table key with
      | Some group -> group := w :: !group
      | None -> Hashtbl.add table key (ref [ w ]))
    words;
  Hashtbl.fold (fun key group all -> (key, List.sort_uniq compare !group) :: all) table []

exception Found of int

let first_above limit array =
  try
    Array.iteri (fun i x -> if x > limit then raise (Found i)) array;
    -1
  with Found i -> i

let () =
  let words = List.init 3000 (fun _ -> word ()) in
  let counts = counted words in
  let top =
    Words.bindings counts
    |> List.sort (fun (a, m) (b, n) -> if m <> n then compare n m else String.compare a b)
    |> List.filteri (fun i _ -> i < 50)
  in
  List.iter (fun (w, n) -> Printf.printf "%s %d\n" w n) top;
  let groups = grouped words in
  Printf.printf "%d groups, %d words\n" (List.length groups)
    (List.fold_left (fun n (_, ws) -> n + List.length ws) 0 groups);
  let floats = Array.init 3000 (fun i -> sin (float_of_int i) *. float_of_int (next 100)) in
  Array.sort compare floats;
  let found = List.init 40 (fun i -> first_above (float_of_int i *. 2.) floats) in
  Printf.printf "%s\n" (String.concat " " (List.map string_of_int found));
  Printf.printf "%d primes\n" (List.length (primes (upto 2 1800)))
