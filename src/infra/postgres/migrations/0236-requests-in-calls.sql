-- A request that the first who was asked answered, and lost nothing on its way, stands in the log of requests by the record
-- of its call: these are the facts that the books do not need. Every other one has a row in request_log.
alter table calls
  add column path text,
  add column asked_model text,
  add column request_bytes int,
  -- Why this provider was asked. Null: this record stands for no request.
  add column why text;
