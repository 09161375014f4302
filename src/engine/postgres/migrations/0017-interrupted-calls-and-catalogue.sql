-- Calls that died with their process are told of; the catalogue of models that all processes share.

-- As reconcile_calls before it, but it answers what it ended: `cost` null was released, it had never been sent.
drop function reconcile_calls;
create function reconcile_calls(most int) returns table (
  call_id text, account_id text, workspace_id text, chat_id text, run_id text, message_id text, model text, provider text,
  cost bigint
) language plpgsql as $$
declare
  items jsonb;
begin
  select jsonb_agg(r.call || jsonb_build_object('id', r.call_id) || case when r.sent_at is null
      then jsonb_build_object('act', 'release')
      else jsonb_build_object('act', 'settle', 'status', 'failed', 'cost', least(r.estimate, r.nano),
        'cost_source', 'estimated', 'finish_reason', 'interrupted', 'requests', 1, 'duration_ms', 0, 'streamed', false)
      end order by r.call_id)
    into items
    from (
      select * from reservations o
      where not exists (select 1 from processes p where p.id = o.process_id and p.expires_at > clock_timestamp())
      order by o.call_id limit most for update skip locked
    ) r;
  if items is null then
    return;
  end if;
  perform settle_calls(items);
  return query select i.id, i.account_id, i.workspace_id, i.chat_id, i.run_id, i.message_id, i.model, i.provider,
      case when i.act = 'settle' then i.cost end
    from jsonb_to_recordset(items) as i(id text, act text, account_id text, workspace_id text, chat_id text, run_id text,
      message_id text, model text, provider text, cost bigint);
end $$;

-- Snapshots of the public catalogue that the operator fetched: the newest is what serves, the shipped one where there is none.
create table catalogues (
  id ulid primary key,
  source_url text not null,
  sha256 text not null,
  models_count int not null,
  priced_count int not null,
  -- What changed against the one before: counts of added, removed and repriced models.
  changes jsonb not null,
  snapshot text not null,
  created_by ulid,
  created_at timestamptz(3) not null default now()
);

-- The operator's own word on a model of the instance's catalogue, above every snapshot.
create table model_overrides (
  slug text primary key,
  pricing jsonb,
  context_length int,
  max_output_tokens int,
  note text not null default '',
  created_by ulid,
  created_at timestamptz(3) not null default now(),
  updated_at timestamptz(3) not null default now()
);
