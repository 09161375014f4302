-- Budgets of workspaces, refunds, and what was used summed up per day.

alter table workspaces
  add column spend_cap_nano bigint,
  add column spend_cap_period text not null default 'month' check (spend_cap_period in ('day', 'week', 'month', 'total'));

alter table calls add column refunded_nano bigint not null default 0;

-- What the calls of a UTC day sum up to, kept by settle_calls: as exact as the calls, and as small as what tells them apart.
create table usage_days (
  account_id ulid not null,
  day date not null,
  workspace_id ulid not null,
  key_id ulid,
  surface text not null,
  model text not null,
  provider text not null,
  billing text not null,
  calls bigint not null,
  failed bigint not null,
  cancelled bigint not null,
  -- Calls of models that have no price: they are not in cost_nano.
  unpriced bigint not null,
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
  cost_nano bigint not null,
  charged_nano bigint not null,
  refunded_nano bigint not null default 0,
  overrun_nano bigint not null,
  -- Sums over the calls that had a first token, and how many those are.
  first_token_ms bigint not null,
  first_token_calls bigint not null,
  duration_ms bigint not null
) with (fillfactor = 50);
create unique index usage_days_one on usage_days (account_id, day, workspace_id, key_id, surface, model, provider, billing)
  nulls not distinct;
create index usage_days_workspace on usage_days (workspace_id, day);

-- The keys of the periods that a UTC day lies in: as periodKey in kernel/time.ts says them.
create function periods_of(day date) returns text[] language sql immutable as $$
  select array[to_char(day, 'YYYY-MM-DD'), to_char(day, 'IYYY"-W"IW'), to_char(day, 'YYYY-MM'), 'total']
$$;

insert into usage_days
  select account_id, day, workspace_id, key_id, surface, model, provider, billing, count(*),
    count(*) filter (where status = 'failed'), count(*) filter (where status = 'cancelled'),
    count(*) filter (where cost_nano is null), sum(input_tokens), sum(cache_read_tokens), sum(cache_write_5m_tokens),
    sum(cache_write_1h_tokens), sum(output_tokens), sum(reasoning_tokens), sum(images), sum(audio_seconds), sum(requests),
    sum(total_tokens), coalesce(sum(cost_nano), 0), sum(charged_nano), 0, sum(overrun_nano),
    coalesce(sum(first_token_ms), 0), count(first_token_ms), sum(duration_ms)
  from calls group by 1, 2, 3, 4, 5, 6, 7, 8;

insert into spends as s (subject, period, nano)
  select c.workspace_id, p, sum(c.cost_nano) from calls c, unnest(periods_of(c.day)) p
  where c.cost_nano > 0 group by 1, 2
  on conflict (subject, period) do update set nano = excluded.nano;

-- Settles and releases many calls. Harmless when repeated: a call is recorded once, a reservation ends once.
-- Reserved: at most the reserve counts and is charged, the rest is an overrun. Guarded but not reserved any more
-- (reconciled meanwhile): all of it is. Not guarded: the cost counts for the subjects, nothing is charged.
-- A workspace counts like a key in every period, so that a budget set later knows what was spent. What was recorded is
-- summed up per day in the same transaction, before the locks that reservations wait for.
create or replace function settle_calls(items jsonb) returns void language plpgsql as $$
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
    insert into calls (id, account_id, workspace_id, key_id, chat_id, run_id, message_id, surface, model, provider,
        endpoint_id, billing, status, day, input_tokens, cache_read_tokens, cache_write_5m_tokens, cache_write_1h_tokens,
        output_tokens, reasoning_tokens, images, audio_seconds, requests, total_tokens, cost_nano, charged_nano,
        overrun_nano, cost_source, finish_reason, first_token_ms, duration_ms, streamed, created_at)
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
  ), rolled as (
    insert into usage_days as u (account_id, day, workspace_id, key_id, surface, model, provider, billing, calls, failed,
        cancelled, unpriced, input_tokens, cache_read_tokens, cache_write_5m_tokens, cache_write_1h_tokens, output_tokens,
        reasoning_tokens, images, audio_seconds, requests, total_tokens, cost_nano, charged_nano, overrun_nano,
        first_token_ms, first_token_calls, duration_ms)
      select account_id, (started_at at time zone 'UTC')::date, workspace_id, key_id, surface, model, provider, billing,
        count(*), count(*) filter (where status = 'failed'), count(*) filter (where status = 'cancelled'),
        count(*) filter (where cost is null), coalesce(sum(input_tokens), 0), coalesce(sum(cache_read_tokens), 0),
        coalesce(sum(cache_write_5m_tokens), 0), coalesce(sum(cache_write_1h_tokens), 0),
        coalesce(sum(output_tokens), 0), coalesce(sum(reasoning_tokens), 0), coalesce(sum(images), 0),
        coalesce(sum(audio_seconds), 0), coalesce(sum(requests), 0), coalesce(sum(total_tokens), 0),
        coalesce(sum(final) filter (where cost is not null), 0), coalesce(sum(final) filter (where drawn), 0),
        coalesce(sum(coalesce(cost, 0) - counted), 0), coalesce(sum(first_token_ms), 0), count(first_token_ms),
        coalesce(sum(duration_ms), 0)
      from done where recorded
      group by 1, 2, 3, 4, 5, 6, 7, 8 order by 1, 2, 3, 4, 5, 6, 7, 8
    on conflict (account_id, day, workspace_id, key_id, surface, model, provider, billing) do update set
      calls = u.calls + excluded.calls, failed = u.failed + excluded.failed, cancelled = u.cancelled + excluded.cancelled,
      unpriced = u.unpriced + excluded.unpriced, input_tokens = u.input_tokens + excluded.input_tokens,
      cache_read_tokens = u.cache_read_tokens + excluded.cache_read_tokens,
      cache_write_5m_tokens = u.cache_write_5m_tokens + excluded.cache_write_5m_tokens,
      cache_write_1h_tokens = u.cache_write_1h_tokens + excluded.cache_write_1h_tokens,
      output_tokens = u.output_tokens + excluded.output_tokens,
      reasoning_tokens = u.reasoning_tokens + excluded.reasoning_tokens, images = u.images + excluded.images,
      audio_seconds = u.audio_seconds + excluded.audio_seconds, requests = u.requests + excluded.requests,
      total_tokens = u.total_tokens + excluded.total_tokens, cost_nano = u.cost_nano + excluded.cost_nano,
      charged_nano = u.charged_nano + excluded.charged_nano, overrun_nano = u.overrun_nano + excluded.overrun_nano,
      first_token_ms = u.first_token_ms + excluded.first_token_ms,
      first_token_calls = u.first_token_calls + excluded.first_token_calls, duration_ms = u.duration_ms + excluded.duration_ms
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
      union all
      select w.workspace_id, x.p, w.nano, 0 from (
        select workspace_id, (started_at at time zone 'UTC')::date as day, sum(final) as nano
          from done where recorded and final > 0 group by 1, 2
      ) w, unnest(periods_of(w.day)) x(p)
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
