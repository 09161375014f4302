-- Decides what calls that ended have cost, and records, settles or releases them.
--
-- Harmless when repeated: a call is recorded once, a reservation ends once. `shared` is what calls have in common; each
-- names its by place, from 0. Guarded: at most the reserve counts and is charged, the rest is an overrun; all of it is where
-- it is not reserved any more (reconciled meanwhile). Not guarded: it costs what it costs, and nothing is charged. A
-- workspace counts like a key in every period, and so does a member of a team, so that a budget set later knows what was
-- spent. What was recorded is summed up per day in the same transaction, before the locks that reservations wait for.
--
-- Rows are added in the order of their ids, and whether a call is recorded already is looked up before. Two that record one
-- call at once break its key: the second begins anew, call by call.
create function settle_calls(shared jsonb, items settled_call[]) returns void language plpgsql
set search_path from current set plan_cache_mode = force_generic_plan set enable_seqscan = off as $$
declare
  payers bpchar[];
  back bigint[];
  counters bpchar[];
  in_periods text[];
  counts bigint[];
  freed bigint[];
begin
  -- The bulk of the work comes before the locks that every caller of an account or a key waits for.
  with kind as materialized (
    select n::int - 1 as place, k.* from jsonb_array_elements(shared) with ordinality x(c, n),
      jsonb_to_record(c) as k(guarded boolean, account_id bpchar, workspace_id bpchar, key_id text, chat_id text,
        run_id text, message_id text, surface text, model text, provider text, endpoint_id text, billing text,
        path text, asked_model text, why text, subjects text[], periods text[])
  ), gone as (
    delete from reservations r using unnest(items) i where r.call_id = i.id
    returning r.call_id, r.account_id, r.nano, r.drawn, r.subjects, r.periods
  ), done as materialized (
    select i.*, (i.started_at at time zone 'UTC')::date as day, g.account_id as payer, g.nano as reserved,
      coalesce(g.drawn, false) as drawn, i.status is not null and i.known is null as recorded,
      case when i.status is null or i.known is not null then 0
        when k.guarded then least(coalesce(i.cost, 0), coalesce(g.nano, 0)) else coalesce(i.cost, 0) end as final,
      k.account_id, k.workspace_id, k.key_id, k.chat_id, k.run_id, k.message_id, k.surface, k.model, k.provider,
      k.endpoint_id, k.billing, k.path, k.asked_model, k.why
    -- Looked up one by one: joined, all calls there are could be read instead.
    from (select u.*, (select c.id from calls c where c.id = u.id) as known from unnest(items) u offset 0) i
      left join gone g on g.call_id = i.id left join kind k on k.place = i.place
    order by i.id
  ), fresh as (
    insert into calls (id, account_id, workspace_id, key_id, chat_id, run_id, message_id, surface, model, provider,
        endpoint_id, billing, status, day, input_tokens, cache_read_tokens, cache_write_5m_tokens, cache_write_1h_tokens,
        output_tokens, reasoning_tokens, images, audio_seconds, requests, total_tokens, cost_nano, charged_nano,
        overrun_nano, cost_source, finish_reason, first_token_ms, duration_ms, streamed, created_at, characters,
        video_seconds, path, asked_model, request_bytes, why)
      select id, account_id, workspace_id, key_id, chat_id, run_id, message_id, surface, model, provider, endpoint_id,
        billing, status, day, input_tokens, cache_read_tokens, cache_write_5m_tokens, cache_write_1h_tokens, output_tokens,
        reasoning_tokens, images, audio_seconds, requests, total_tokens, case when cost is not null then final end,
        case when drawn then final else 0 end, coalesce(cost, 0) - final, cost_source, finish_reason, first_token_ms,
        duration_ms, streamed, started_at, coalesce(characters, 0), coalesce(video_seconds, 0), path, asked_model,
        request_bytes, why
      from done where recorded returning id
  ), summed as materialized (
    select place, day, count(*) as calls, count(*) filter (where status = 'failed') as failed,
      count(*) filter (where status = 'cancelled') as cancelled, count(*) filter (where cost is null) as unpriced,
      sum(input_tokens) as input_tokens, sum(cache_read_tokens) as cache_read_tokens,
      sum(cache_write_5m_tokens) as cache_write_5m_tokens, sum(cache_write_1h_tokens) as cache_write_1h_tokens,
      sum(output_tokens) as output_tokens, sum(reasoning_tokens) as reasoning_tokens, sum(images) as images,
      sum(audio_seconds) as audio_seconds, coalesce(sum(characters), 0) as characters,
      coalesce(sum(video_seconds), 0) as video_seconds, sum(requests) as requests, sum(total_tokens) as total_tokens,
      coalesce(sum(final) filter (where cost is not null), 0) as cost, sum(final) as final,
      coalesce(sum(final) filter (where drawn), 0) as charged, sum(coalesce(cost, 0) - final) as overrun,
      coalesce(sum(first_token_ms), 0) as first_token_ms, count(first_token_ms) as first_token_calls,
      sum(duration_ms) as duration_ms
    -- Records come first: the sums of a day are a row that others wait for.
    from done, (select count(*) as records from fresh) f where recorded and f.records > 0 group by place, day
  ), rolled as (
    insert into usage_days as u (account_id, day, workspace_id, key_id, surface, model, provider, billing, calls, failed,
        cancelled, unpriced, input_tokens, cache_read_tokens, cache_write_5m_tokens, cache_write_1h_tokens, output_tokens,
        reasoning_tokens, images, audio_seconds, requests, total_tokens, cost_nano, charged_nano, overrun_nano,
        first_token_ms, first_token_calls, duration_ms, characters, video_seconds)
      select k.account_id, s.day, k.workspace_id, k.key_id, k.surface, k.model, k.provider, k.billing, sum(s.calls),
        sum(s.failed), sum(s.cancelled), sum(s.unpriced), sum(s.input_tokens), sum(s.cache_read_tokens),
        sum(s.cache_write_5m_tokens), sum(s.cache_write_1h_tokens), sum(s.output_tokens), sum(s.reasoning_tokens),
        sum(s.images), sum(s.audio_seconds), sum(s.requests), sum(s.total_tokens), sum(s.cost), sum(s.charged),
        sum(s.overrun), sum(s.first_token_ms), sum(s.first_token_calls), sum(s.duration_ms),
        sum(s.characters), sum(s.video_seconds)
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
      first_token_calls = u.first_token_calls + excluded.first_token_calls, duration_ms = u.duration_ms + excluded.duration_ms,
      characters = u.characters + excluded.characters, video_seconds = u.video_seconds + excluded.video_seconds
  ), line as (
    insert into ledger (account_id, kind, nano, change, call_id)
      select payer, case when recorded then 'settle' else 'release' end, case when recorded then final else reserved end,
        case when not drawn then 0 when recorded then reserved - final else reserved end, id
      from done where reserved is not null
      union all
      select account_id, 'overrun', coalesce(cost, 0) - final, 0, id from done where recorded and coalesce(cost, 0) > final
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
      union all
      -- Who is alone in a workspace has spent what the workspace has.
      select m.id, x.p, s.final, 0 from summed s join kind k on k.place = s.place
        join members m on m.workspace_id = k.workspace_id and m.account_id = k.account_id
        join workspaces w on w.id = m.workspace_id and w.kind = 'team', unnest(periods_of(s.day)) x(p)
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
