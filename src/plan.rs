//! Cards x images -> decisions. Every policy rule lives here and nowhere else; no I/O.
