-- Ends the reservations of processes that are no more: released when never sent, else settled on the estimate. Answers
-- what it ended: `cost` null was released. What another process is reconciling is left to it.
create function reconcile_calls(most int) returns table (
  call_id text, account_id text, workspace_id text, chat_id text, run_id text, message_id text, model text, provider text,
  cost bigint
) language plpgsql
set search_path from current as $$
declare
  shared jsonb;
  items settled_call[];
begin
  select jsonb_agg(r.call order by r.n), array_agg(row(r.n - 1, r.call_id,
      coalesce(r.started_at, (r.call ->> 'started_at')::timestamptz),
      case when r.sent_at is not null then 'failed' end, 0, 0, 0, 1, 0, 0, 0, 0, 0, 0, least(r.estimate, r.nano),
      'estimated', 'interrupted', null, 0, false, 0, 0, null)::settled_call order by r.n)
    into shared, items
    from (
      select o.*, row_number() over (order by o.call_id)::int as n from (
        select * from reservations p
        where not p.outlives_process
          and not exists (select 1 from processes x where x.id = p.process_id and x.expires_at > clock_timestamp())
        order by p.call_id limit most for update skip locked
      ) o
    ) r;
  if items is null then
    return;
  end if;
  perform settle_calls(shared, items);
  return query select i.id::text, k.account_id, k.workspace_id, k.chat_id, k.run_id, k.message_id, k.model, k.provider,
      case when i.status is not null then i.cost end
    from unnest(items) i join jsonb_array_elements(shared) with ordinality c(o, n) on c.n = i.place + 1,
      jsonb_to_record(c.o) as k(account_id text, workspace_id text, chat_id text, run_id text, message_id text,
        model text, provider text);
end $$;
