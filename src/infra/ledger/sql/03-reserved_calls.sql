-- Writes the reservations that reserve_calls has granted (`held` is not null), and their lines in the ledger.
create function reserved_calls(
  process bpchar, shared jsonb, payers bpchar[], subjects text[], periods text[], account_at int[], ids bpchar[],
  starts bigint[], held bigint[], places int[]
) returns void language plpgsql
set search_path from current as $$
begin
  insert into reservations (call_id, process_id, account_id, nano, drawn, subjects, periods, call, started_at)
    select x.id, process, payers[x.place], x.nano, account_at[x.place] > 0, subjects[x.place]::text[],
      periods[x.place]::text[], shared -> x.place - 1, to_timestamp(x.started / 1000.0)
    from unnest(ids, starts, held, places) x(id, started, nano, place) where x.nano is not null;
  insert into ledger (account_id, kind, nano, change, call_id)
    select payers[x.place], 'reserve', x.nano, case when account_at[x.place] > 0 then -x.nano else 0 end, x.id
    from unnest(ids, held, places) x(id, nano, place) where x.nano is not null;
end $$;
