-- Money: whole nano-dollars (10^-9 USD). One append-only ledger, what is left and what is held, and the record of calls.
-- Every function that writes takes its locks in one order: reservations by call, balances by account, spends by
-- subject and period. So none waits in a circle.

-- Where a process runs (boot and pid namespace) and under which name its jobs are locked: for finding out that it died.
alter table processes add column place text, add column pid int, add column worker_pool text;
create index processes_expiry on processes (expires_at);

-- An operation that runs names the process that runs it.
alter table operations
  add column process_id ulid,
  -- The only workspace that its starter's credential reaches.
  add column held_to ulid,
  add column attempts int not null default 0,
  -- How long its content is kept once there is some.
  add column content_seconds int;

create table balances (
  account_id ulid primary key,
  -- What can still be reserved: reservations are already taken off.
  nano bigint not null default 0
) with (fillfactor = 50);

-- What a subject (a key, a goal, a chat, a workspace) spent in a period, and what is reserved under its caps there.
create table spends (
  subject ulid not null,
  period text collate "C" not null,
  nano bigint not null default 0,
  held bigint not null default 0,
  primary key (subject, period)
) with (fillfactor = 50);

create table reservations (
  call_id ulid primary key,
  process_id ulid not null,
  account_id ulid not null,
  nano bigint not null,
  -- Whether it was taken off the balance: not for the unlimited tier, nor on the caller's own provider key.
  drawn boolean not null,
  subjects text[] not null,
  periods text[] not null,
  -- What a crash settles it on once it was sent: the bound of the input and what was received.
  estimate bigint not null default 0,
  sent_at timestamptz,
  -- The call as settle_calls takes it, without its outcome.
  call jsonb not null,
  at timestamptz not null default clock_timestamp()
) with (fillfactor = 70);
create index reservations_process on reservations (process_id);

create table ledger (
  seq bigint generated always as identity primary key,
  at timestamptz(3) not null default clock_timestamp(),
  account_id ulid not null,
  kind text not null check (kind in ('grant', 'reserve', 'settle', 'release', 'refund', 'overrun')),
  -- The amount of the line, and what it did to the balance: the changes of an account sum up to its balance.
  nano bigint not null,
  change bigint not null,
  call_id ulid,
  note text,
  by_account ulid
);
create index ledger_account on ledger (account_id, seq desc);
create index ledger_call on ledger (call_id) where call_id is not null;

create function ledger_is_append_only() returns trigger language plpgsql as $$
begin
  raise exception 'the ledger is append-only';
end $$;
create trigger ledger_append_only before update or delete or truncate on ledger
  for each statement execute function ledger_is_append_only();

-- One row per metered call of a model. Token buckets are disjoint.
create table calls (
  id ulid primary key,
  account_id ulid not null,
  workspace_id ulid not null,
  key_id ulid,
  chat_id ulid,
  run_id ulid,
  message_id ulid,
  surface text not null,
  model text not null,
  provider text not null,
  endpoint_id ulid,
  billing text not null,
  status text not null,
  day date not null,
  input_tokens bigint not null,
  cache_read_tokens bigint not null,
  cache_write_5m_tokens bigint not null,
  cache_write_1h_tokens bigint not null,
  output_tokens bigint not null,
  reasoning_tokens bigint not null,
  images bigint not null,
  audio_seconds double precision not null,
  requests bigint not null,
  total_tokens bigint not null,
  -- What counts for the caller; null where the model has no price.
  cost_nano bigint,
  -- The part of it that was taken off the balance.
  charged_nano bigint not null,
  -- What the provider took above the reserve, borne by the instance.
  overrun_nano bigint not null,
  cost_source text,
  finish_reason text,
  first_token_ms int,
  duration_ms int not null,
  streamed boolean not null,
  created_at timestamptz(3) not null
);
create index calls_account on calls (account_id, id desc);
create index calls_account_day on calls (account_id, day);
create index calls_workspace_day on calls (workspace_id, day);
create index calls_key on calls (key_id, id desc) where key_id is not null;
create index calls_chat on calls (chat_id, id) where chat_id is not null;
create index calls_run on calls (run_id) where run_id is not null;
create index calls_message on calls (message_id) where message_id is not null;

-- Grants or refuses each of many calls in one step, in their order. Accounts and holds are lists without doubles;
-- a call names its account and its holds by place (account 0: nothing is drawn). Answers a row per refused call:
-- `refused_by` is 0 for the balance, n for its n-th hold, -1 for a call that is reserved already.
create function reserve_calls(
  process text, accounts text[], subjects text[], in_periods text[],
  ids text[], worsts bigint[], account_at int[],
  first_hold int[], last_hold int[], hold_at int[], caps bigint[], calls jsonb
) returns table (item int, refused_by int, available bigint) language plpgsql as $$
declare
  balance bigint[];
  used bigint[];
  taken bigint[] := array_fill(0::bigint, array[cardinality(accounts)]);
  added bigint[] := array_fill(0::bigint, array[cardinality(subjects)]);
  granted int[] := '{}';
  open text[];
  worst bigint;
  a int;
  h int;
  fits boolean;
begin
  open := array(select call_id::text from reservations where call_id = any(ids));
  if cardinality(accounts) > 0 then
    perform 1 from balances where account_id = any(accounts) order by account_id for update;
    select array_agg(coalesce(b.nano, 0) order by x.n) into balance
      from unnest(accounts) with ordinality x(id, n) left join balances b on b.account_id = x.id;
  end if;
  if cardinality(subjects) > 0 then
    -- Makes what is missing and locks what is there, in one pass; `where false` locks without writing.
    insert into spends (subject, period)
      select s, p from unnest(subjects, in_periods) x(s, p) order by s collate "C", p collate "C"
      on conflict (subject, period) do update set held = excluded.held where false;
    select array_agg(b.nano + b.held order by x.n) into used
      from unnest(subjects, in_periods) with ordinality x(s, p, n) join spends b on b.subject = x.s and b.period = x.p;
  end if;

  for i in 1 .. cardinality(ids) loop
    if ids[i] = any(open) then
      return query select i, -1, 0::bigint;
      continue;
    end if;
    worst := worsts[i];
    a := account_at[i];
    if a > 0 and worst > 0 and balance[a] < worst then
      return query select i, 0, balance[a];
      continue;
    end if;
    fits := true;
    for k in first_hold[i] .. last_hold[i] loop
      h := hold_at[k];
      if worst > 0 and used[h] + worst > caps[k] then
        return query select i, k - first_hold[i] + 1, greatest(caps[k] - used[h], 0);
        fits := false;
        exit;
      end if;
    end loop;
    continue when not fits;
    if a > 0 then
      balance[a] := balance[a] - worst;
      taken[a] := taken[a] + worst;
    end if;
    for k in first_hold[i] .. last_hold[i] loop
      h := hold_at[k];
      used[h] := used[h] + worst;
      added[h] := added[h] + worst;
    end loop;
    granted := granted || i;
  end loop;
  if cardinality(granted) = 0 then
    return;
  end if;

  update balances b set nano = b.nano - t from unnest(accounts, taken) x(id, t) where b.account_id = x.id and t > 0;
  update spends s set held = s.held + t from unnest(subjects, in_periods, added) x(s, p, t)
    where s.subject = x.s and s.period = x.p and t > 0;
  insert into reservations (call_id, process_id, account_id, nano, drawn, subjects, periods, call)
    select ids[g], process, calls -> (g - 1) ->> 'account_id', worsts[g], account_at[g] > 0,
      array(select subjects[x] from unnest(hold_at[first_hold[g]:last_hold[g]]) x),
      array(select in_periods[x] from unnest(hold_at[first_hold[g]:last_hold[g]]) x),
      calls -> (g - 1)
    from unnest(granted) g;
  insert into ledger (account_id, kind, nano, change, call_id)
    select calls -> (g - 1) ->> 'account_id', 'reserve', worsts[g], case when account_at[g] > 0 then -worsts[g] else 0 end, ids[g]
    from unnest(granted) g;
end $$;

-- Settles and releases many calls. Harmless when repeated: a call is recorded once, a reservation ends once.
-- Reserved: at most the reserve counts and is charged, the rest is an overrun. Guarded but not reserved any more
-- (reconciled meanwhile): all of it is. Not guarded: the cost counts for the subjects, nothing is charged.
create function settle_calls(items jsonb) returns void language plpgsql as $$
declare
  ids text[] := array(select jsonb_array_elements(items) ->> 'id');
  payers text[];
  back bigint[];
  counters text[];
  in_periods text[];
  counts bigint[];
  freed bigint[];
begin
  perform 1 from reservations where call_id = any(ids) order by call_id for update;

  -- The bulk of the work comes before the locks that every caller of an account or a key waits for.
  with item as materialized (
    select * from jsonb_to_recordset(items) as x(
      id text, act text, guarded boolean, account_id text, workspace_id text, key_id text, chat_id text, run_id text,
      message_id text, surface text, model text, provider text, endpoint_id text, billing text, started_at timestamptz,
      subjects text[], periods text[], status text, input_tokens bigint, cache_read_tokens bigint,
      cache_write_5m_tokens bigint, cache_write_1h_tokens bigint, output_tokens bigint, reasoning_tokens bigint,
      images bigint, audio_seconds double precision, requests bigint, total_tokens bigint, cost bigint,
      cost_source text, finish_reason text, first_token_ms int, duration_ms int, streamed boolean)
  ), gone as (
    delete from reservations where call_id = any(ids) returning *
  ), amount as materialized (
    select i.*, g.account_id as payer, g.nano as reserved, coalesce(g.drawn, false) as drawn,
      case when i.act = 'release' then 0 when g.nano is not null or i.guarded
        then least(coalesce(i.cost, 0), coalesce(g.nano, 0)) else coalesce(i.cost, 0) end as counted
    from item i left join gone g on g.call_id = i.id
  ), fresh as (
    insert into calls
      select id, account_id, workspace_id, key_id, chat_id, run_id, message_id, surface, model, provider, endpoint_id,
        -- What an item leaves out is 0.
        billing, status, (started_at at time zone 'UTC')::date, coalesce(input_tokens, 0), coalesce(cache_read_tokens, 0),
        coalesce(cache_write_5m_tokens, 0), coalesce(cache_write_1h_tokens, 0), coalesce(output_tokens, 0),
        coalesce(reasoning_tokens, 0), coalesce(images, 0), coalesce(audio_seconds, 0), coalesce(requests, 0),
        coalesce(total_tokens, 0), case when cost is not null then counted end, case when drawn then counted else 0 end,
        coalesce(cost, 0) - counted, cost_source, finish_reason, first_token_ms, duration_ms, streamed, started_at
      from amount where act = 'settle'
    on conflict (id) do nothing returning id
  ), done as materialized (
    select a.*, f.id is not null as recorded, case when f.id is null then 0 else a.counted end as final
    from amount a left join fresh f on f.id = a.id
  ), line as (
    insert into ledger (account_id, kind, nano, change, call_id)
      select payer, kind, nano, change, id from (
        select payer, 'settle' as kind, final as nano, case when drawn then reserved - final else 0 end as change, id, 1 as n
          from done where reserved is not null and recorded
        union all
        select payer, 'release', reserved, case when drawn then reserved else 0 end, id, 1
          from done where reserved is not null and not recorded
        union all
        select account_id, 'overrun', coalesce(cost, 0) - counted, 0, id, 2
          from done where recorded and coalesce(cost, 0) > counted
      ) each_line order by id, n
  ), paid as (
    select payer, sum(reserved - final) as back from done where drawn group by payer
  ), counted as (
    select subject, period, sum(nano) as nano, sum(held) as held from (
      select x.s as subject, x.p as period, 0 as nano, g.nano as held from gone g, unnest(g.subjects, g.periods) x(s, p)
      union all
      select x.s, x.p, d.final, 0 from done d, unnest(d.subjects, d.periods) x(s, p) where d.recorded and d.final > 0
    ) each_count group by subject, period
  )
  select (select array_agg(p.payer) from paid p), (select array_agg(p.back) from paid p),
      c.subjects, c.periods, c.nanos, c.helds
    into payers, back, counters, in_periods, counts, freed
    from (select array_agg(subject order by subject collate "C", period collate "C") as subjects,
        array_agg(period order by subject collate "C", period collate "C") as periods,
        array_agg(nano order by subject collate "C", period collate "C") as nanos,
        array_agg(held order by subject collate "C", period collate "C") as helds from counted) c;

  if payers is not null then
    perform 1 from balances where account_id = any(payers) order by account_id for update;
    update balances b set nano = b.nano + x.n from unnest(payers, back) x(id, n) where b.account_id = x.id;
  end if;
  if counters is not null then
    insert into spends as s (subject, period, nano, held)
      select c, p, n, -h from unnest(counters, in_periods, counts, freed) with ordinality x(c, p, n, h, place) order by place
      on conflict (subject, period) do update set nano = s.nano + excluded.nano, held = s.held + excluded.held;
  end if;
end $$;

-- Ends the reservations of processes that are no more: released when never sent, else settled on the estimate.
-- Answers how many it ended; what another process is reconciling is left to it.
create function reconcile_calls(most int) returns int language plpgsql as $$
declare
  items jsonb;
begin
  select jsonb_agg(call || jsonb_build_object('id', call_id) || case when sent_at is null
      then jsonb_build_object('act', 'release')
      else jsonb_build_object('act', 'settle', 'status', 'failed', 'cost', least(estimate, nano), 'cost_source', 'estimated',
        'finish_reason', 'interrupted', 'input_tokens', 0, 'cache_read_tokens', 0, 'cache_write_5m_tokens', 0,
        'cache_write_1h_tokens', 0, 'output_tokens', 0, 'reasoning_tokens', 0, 'images', 0, 'audio_seconds', 0,
        'requests', 1, 'total_tokens', 0, 'duration_ms', 0, 'streamed', false) end order by call_id)
    into items
    from (
      select * from reservations r
      where not exists (select 1 from processes p where p.id = r.process_id and p.expires_at > clock_timestamp())
      order by call_id limit most for update skip locked
    ) orphan;
  if items is null then
    return 0;
  end if;
  perform settle_calls(items);
  return jsonb_array_length(items);
end $$;

-- Outbox events that an in-process consumer has not handled yet, in their order.
create table deliveries (
  consumer text not null,
  seq bigint not null,
  event jsonb not null,
  attempts int not null default 0,
  due_at timestamptz not null default now(),
  primary key (consumer, seq)
);
