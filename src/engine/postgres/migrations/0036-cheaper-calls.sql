-- Calls are held and settled at a fraction of the cost. What the calls of one payer and model share comes once per batch
-- and is worked on once; ids are compared as what they are, for a comparison with text cannot use an index; a hold may
-- take less than the worst case where that is all there is.

-- When the call began. Null in rows from before: it stands in `call`.
alter table reservations add column started_at timestamptz;

-- Rows live for as long as a call: their place is to be used again before it is a gigabyte.
alter table reservations set (autovacuum_vacuum_scale_factor = 0, autovacuum_vacuum_threshold = 20000);

-- What nothing reads by. A page of calls goes by their ids, which sort by time; a day narrows it.
drop index reservations_process;
drop index ledger_account;
drop index calls_account_day;
drop index calls_workspace_day;
create index calls_workspace on calls (workspace_id, id desc);

-- Grants or refuses each of many calls in one step, in their order. Accounts and holds are lists without doubles, each
-- with what the whole batch asks of it, a hold also with the lowest cap that is put to it. `shared` is what calls have
-- in common: its account (0: nothing is drawn) and its holds by place, with their caps in `caps`. A call has its worst
-- case, the least that is of use to it, and the place of its shared part. Answers a row per call that did not get its
-- worst case: `refused_by` is 0 for the balance, n for its n-th hold, -1 for a call that is reserved already, and
-- `amount` what was there; null: it was granted, with `amount` held.
drop function reserve_calls;
create function reserve_calls(
  process text, accounts bpchar[], account_asked bigint[], hold_subjects bpchar[], hold_periods text[],
  hold_asked bigint[], hold_cap bigint[], shared jsonb, account_at int[], first_hold int[], last_hold int[],
  hold_at int[], caps bigint[], ids bpchar[], starts bigint[], worsts bigint[], leasts bigint[], places int[]
) returns table (item int, refused_by int, amount bigint) language plpgsql as $$
declare
  balance bigint[];
  used bigint[];
  plenty boolean := true;
  roomy boolean := true;
  taken bigint[] := account_asked;
  added bigint[] := hold_asked;
  -- Null: refused.
  held bigint[] := worsts;
  open bpchar[];
  room bigint;
  a int;
  too_little int;
begin
  open := array(select call_id from reservations where call_id = any(ids));
  if cardinality(accounts) > 0 then
    perform 1 from balances where account_id = any(accounts) order by account_id for update;
    select array_agg(coalesce(b.nano, 0) order by x.n), bool_and(x.asked <= coalesce(b.nano, 0)) into balance, plenty
      from unnest(accounts, account_asked) with ordinality x(id, asked, n) left join balances b on b.account_id = x.id;
  end if;
  if cardinality(hold_subjects) > 0 then
    -- Makes what is missing and locks what is there, in one pass; `where false` locks without writing.
    insert into spends (subject, period)
      select s, p from unnest(hold_subjects, hold_periods) x(s, p) order by s collate "C", p collate "C"
      on conflict (subject, period) do update set held = excluded.held where false;
    select array_agg(b.nano + b.held order by x.n), bool_and(b.nano + b.held + x.asked <= x.cap) into used, roomy
      from unnest(hold_subjects, hold_periods, hold_asked, hold_cap) with ordinality x(s, p, asked, cap, n)
      join spends b on b.subject = x.s and b.period = x.p;
  end if;

  -- One by one only where there is not enough for all.
  if not plenty or not roomy or cardinality(open) > 0 then
    taken := array_fill(0::bigint, array[cardinality(accounts)]);
    added := array_fill(0::bigint, array[cardinality(hold_subjects)]);
    for i in 1 .. cardinality(ids) loop
      if ids[i] = any(open) then
        held[i] := null;
        return query select i, -1, 0::bigint;
        continue;
      end if;
      a := account_at[places[i]];
      too_little := null;
      if worsts[i] > 0 then
        if a > 0 then
          if balance[a] < leasts[i] then
            too_little := 0;
            room := balance[a];
          else
            held[i] := least(held[i], balance[a]);
          end if;
        end if;
        for k in first_hold[places[i]] .. last_hold[places[i]] loop
          exit when too_little is not null;
          if used[hold_at[k]] + leasts[i] > caps[k] then
            too_little := k - first_hold[places[i]] + 1;
            room := greatest(caps[k] - used[hold_at[k]], 0);
          else
            held[i] := least(held[i], caps[k] - used[hold_at[k]]);
          end if;
        end loop;
      end if;
      if too_little is not null then
        held[i] := null;
        return query select i, too_little, room;
        continue;
      end if;
      if held[i] < worsts[i] then
        return query select i, null::int, held[i];
      end if;
      if a > 0 then
        balance[a] := balance[a] - held[i];
        taken[a] := taken[a] + held[i];
      end if;
      for k in first_hold[places[i]] .. last_hold[places[i]] loop
        used[hold_at[k]] := used[hold_at[k]] + held[i];
        added[hold_at[k]] := added[hold_at[k]] + held[i];
      end loop;
    end loop;
  end if;

  update balances b set nano = b.nano - t from unnest(accounts, taken) x(id, t) where b.account_id = x.id and t > 0;
  update spends s set held = s.held + t from unnest(hold_subjects, hold_periods, added) x(s, p, t)
    where s.subject = x.s and s.period = x.p and t > 0;
  with kind as materialized (
    select n::int as place, c as call, c ->> 'account_id' as account_id, account_at[n] > 0 as drawn,
      array(select hold_subjects[h]::text from unnest(hold_at[first_hold[n]:last_hold[n]]) h) as subjects,
      array(select hold_periods[h] from unnest(hold_at[first_hold[n]:last_hold[n]]) h) as periods
    from jsonb_array_elements(shared) with ordinality x(c, n)
  ), reserved as (
    insert into reservations (call_id, process_id, account_id, nano, drawn, subjects, periods, call, started_at)
      select x.id, process, k.account_id, x.nano, k.drawn, k.subjects, k.periods, k.call,
        to_timestamp(x.started / 1000.0)
      from unnest(ids, starts, held, places) x(id, started, nano, place) join kind k on k.place = x.place
      where x.nano is not null
    returning call_id, account_id, nano, drawn
  )
  insert into ledger (account_id, kind, nano, change, call_id)
    select account_id, 'reserve', nano, case when drawn then -nano else 0 end, call_id from reserved;
end $$;

-- A call that ended, as `settle_calls` takes it. Without a status it was never sent, and is released.
create type settled_call as (
  place int, id bpchar, started_at timestamptz, status text, input_tokens bigint, output_tokens bigint,
  total_tokens bigint, requests bigint, cache_read_tokens bigint, reasoning_tokens bigint, cache_write_5m_tokens bigint,
  cache_write_1h_tokens bigint, images bigint, audio_seconds double precision, cost bigint, cost_source text,
  finish_reason text, first_token_ms int, duration_ms int, streamed boolean
);

-- Settles and releases many calls. Harmless when repeated: a call is recorded once, a reservation ends once.
-- `shared` is what calls have in common; each names its by place, from 0.
-- Reserved: at most the reserve counts and is charged, the rest is an overrun. Guarded but not reserved any more
-- (reconciled meanwhile): all of it is. Not guarded: the cost counts for the subjects, nothing is charged.
-- A workspace counts like a key in every period, so that a budget set later knows what was spent. What was recorded is
-- summed up per day in the same transaction, before the locks that reservations wait for.
drop function settle_batch;
drop function settle_calls;
create function settle_calls(shared jsonb, items settled_call[]) returns void language plpgsql as $$
declare
  ids bpchar[] := array(select i.id from unnest(items) i);
  payers bpchar[];
  back bigint[];
  counters bpchar[];
  in_periods text[];
  counts bigint[];
  freed bigint[];
begin
  perform 1 from reservations where call_id = any(ids) order by call_id for update;

  -- The bulk of the work comes before the locks that every caller of an account or a key waits for.
  with kind as materialized (
    select n::int - 1 as place, k.* from jsonb_array_elements(shared) with ordinality x(c, n),
      jsonb_to_record(c) as k(guarded boolean, account_id text, workspace_id text, key_id text, chat_id text,
        run_id text, message_id text, surface text, model text, provider text, endpoint_id text, billing text,
        subjects text[], periods text[])
  ), gone as (
    delete from reservations where call_id = any(ids) returning call_id, account_id, nano, drawn, subjects, periods
  ), amount as materialized (
    select i.*, (i.started_at at time zone 'UTC')::date as day, g.account_id as payer, g.nano as reserved,
      coalesce(g.drawn, false) as drawn,
      case when i.status is null then 0 when g.nano is not null or k.guarded
        then least(coalesce(i.cost, 0), coalesce(g.nano, 0)) else coalesce(i.cost, 0) end as counted
    from unnest(items) i left join gone g on g.call_id = i.id left join kind k on k.place = i.place
  ), fresh as (
    insert into calls (id, account_id, workspace_id, key_id, chat_id, run_id, message_id, surface, model, provider,
        endpoint_id, billing, status, day, input_tokens, cache_read_tokens, cache_write_5m_tokens, cache_write_1h_tokens,
        output_tokens, reasoning_tokens, images, audio_seconds, requests, total_tokens, cost_nano, charged_nano,
        overrun_nano, cost_source, finish_reason, first_token_ms, duration_ms, streamed, created_at)
      select a.id, k.account_id, k.workspace_id, k.key_id, k.chat_id, k.run_id, k.message_id, k.surface, k.model,
        k.provider, k.endpoint_id, k.billing, a.status, a.day, a.input_tokens, a.cache_read_tokens,
        a.cache_write_5m_tokens, a.cache_write_1h_tokens, a.output_tokens, a.reasoning_tokens, a.images, a.audio_seconds,
        a.requests, a.total_tokens, case when a.cost is not null then a.counted end,
        case when a.drawn then a.counted else 0 end, coalesce(a.cost, 0) - a.counted, a.cost_source, a.finish_reason,
        a.first_token_ms, a.duration_ms, a.streamed, a.started_at
      from amount a join kind k on k.place = a.place where a.status is not null
    on conflict (id) do nothing returning id
  ), done as materialized (
    select a.*, f.id is not null as recorded, case when f.id is null then 0 else a.counted end as final
    from amount a left join fresh f on f.id = a.id
  ), summed as materialized (
    select place, day, count(*) as calls, count(*) filter (where status = 'failed') as failed,
      count(*) filter (where status = 'cancelled') as cancelled, count(*) filter (where cost is null) as unpriced,
      sum(input_tokens) as input_tokens, sum(cache_read_tokens) as cache_read_tokens,
      sum(cache_write_5m_tokens) as cache_write_5m_tokens, sum(cache_write_1h_tokens) as cache_write_1h_tokens,
      sum(output_tokens) as output_tokens, sum(reasoning_tokens) as reasoning_tokens, sum(images) as images,
      sum(audio_seconds) as audio_seconds, sum(requests) as requests, sum(total_tokens) as total_tokens,
      coalesce(sum(final) filter (where cost is not null), 0) as cost, sum(final) as final,
      coalesce(sum(final) filter (where drawn), 0) as charged, sum(coalesce(cost, 0) - counted) as overrun,
      coalesce(sum(first_token_ms), 0) as first_token_ms, count(first_token_ms) as first_token_calls,
      sum(duration_ms) as duration_ms
    from done where recorded group by place, day
  ), rolled as (
    insert into usage_days as u (account_id, day, workspace_id, key_id, surface, model, provider, billing, calls, failed,
        cancelled, unpriced, input_tokens, cache_read_tokens, cache_write_5m_tokens, cache_write_1h_tokens, output_tokens,
        reasoning_tokens, images, audio_seconds, requests, total_tokens, cost_nano, charged_nano, overrun_nano,
        first_token_ms, first_token_calls, duration_ms)
      select k.account_id, s.day, k.workspace_id, k.key_id, k.surface, k.model, k.provider, k.billing, sum(s.calls),
        sum(s.failed), sum(s.cancelled), sum(s.unpriced), sum(s.input_tokens), sum(s.cache_read_tokens),
        sum(s.cache_write_5m_tokens), sum(s.cache_write_1h_tokens), sum(s.output_tokens), sum(s.reasoning_tokens),
        sum(s.images), sum(s.audio_seconds), sum(s.requests), sum(s.total_tokens), sum(s.cost), sum(s.charged),
        sum(s.overrun), sum(s.first_token_ms), sum(s.first_token_calls), sum(s.duration_ms)
      from summed s join kind k on k.place = s.place
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
        select payer, case when recorded then 'settle' else 'release' end as kind,
            case when recorded then final else reserved end as nano,
            case when not drawn then 0 when recorded then reserved - final else reserved end as change, id, 1 as n
          from done where reserved is not null
        union all
        select k.account_id, 'overrun', coalesce(d.cost, 0) - d.counted, 0, d.id, 2
          from done d join kind k on k.place = d.place where d.recorded and coalesce(d.cost, 0) > d.counted
      ) each_line order by id, n
  ), paid as (
    select payer, sum(reserved - final) as back from done where drawn group by payer
  ), counted as (
    select subject, period, sum(nano) as nano, sum(held) as held from (
      select x.s as subject, x.p as period, 0 as nano, g.held
        from (select subjects, periods, sum(nano) as held from gone group by 1, 2) g, unnest(g.subjects, g.periods) x(s, p)
      union all
      select x.s, x.p, s.final, 0 from summed s join kind k on k.place = s.place, unnest(k.subjects, k.periods) x(s, p)
        where s.final > 0
      union all
      select k.workspace_id, x.p, s.final, 0 from summed s join kind k on k.place = s.place, unnest(periods_of(s.day)) x(p)
        where s.final > 0
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

-- Settled calls as a process sends them, a line each, its fields in the order of the type with tabs between them, an
-- empty one null. A released call has two.
create function settle_batch(shared jsonb, lines text) returns void language plpgsql as $$
begin
  perform settle_calls(shared, array(
    with line as materialized (select string_to_array(l, E'\t', '') as f from string_to_table(lines, E'\n') l)
    select row(f[1]::int, f[2], to_timestamp(f[3]::float8 / 1000), f[4], f[5]::bigint, f[6]::bigint, f[7]::bigint,
      f[8]::bigint, f[9]::bigint, f[10]::bigint, f[11]::bigint, f[12]::bigint, f[13]::bigint, f[14]::float8,
      f[15]::bigint, f[16], f[17], f[18]::int, f[19]::int, f[20]::boolean)::settled_call
    from line order by f[2] collate "C"));
end $$;

-- Ends the reservations of processes that are no more: released when never sent, else settled on the estimate. Answers
-- what it ended: `cost` null was released. What another process is reconciling is left to it.
drop function reconcile_calls;
create function reconcile_calls(most int) returns table (
  call_id text, account_id text, workspace_id text, chat_id text, run_id text, message_id text, model text, provider text,
  cost bigint
) language plpgsql as $$
declare
  shared jsonb;
  items settled_call[];
begin
  select jsonb_agg(r.call order by r.n), array_agg(row(r.n - 1, r.call_id,
      coalesce(r.started_at, (r.call ->> 'started_at')::timestamptz),
      case when r.sent_at is not null then 'failed' end, 0, 0, 0, 1, 0, 0, 0, 0, 0, 0, least(r.estimate, r.nano),
      'estimated', 'interrupted', null, 0, false)::settled_call order by r.n)
    into shared, items
    from (
      select o.*, row_number() over (order by o.call_id)::int as n from (
        select * from reservations p
        where not exists (select 1 from processes x where x.id = p.process_id and x.expires_at > clock_timestamp())
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
