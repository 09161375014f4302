-- The last calls of a model that speaks, for its speed: only calls that spoke are in it.

create index calls_spoken on calls (endpoint_id, model, id) where characters > 0;
