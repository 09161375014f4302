import type { Agent } from '../../shared/agents/queries.ts'
import { type Period, periods } from '../../shared/money/spend-cap.ts'
import { AreaField } from '../../ui/area-field.tsx'
import { SelectField, TextField } from '../../ui/field.tsx'
import { Section } from '../../ui/page.tsx'
import { usd } from '../../ui/text/format.ts'
import type { AgentEditing } from './use-agent-draft.ts'

export function LimitFields({
  agent,
  editing: { draft, set, sending },
  isMember,
  isLocked,
}: {
  agent: Agent
  editing: AgentEditing
  isMember: boolean
  isLocked: boolean
}) {
  const { at } = sending
  return (
    <Section title="Limits" about="All limits are optional.">
      <div className="grid gap-4 sm:grid-cols-3">
        <TextField
          label="Spend cap in USD"
          inputMode="decimal"
          placeholder="no cap"
          disabled={!isMember}
          value={draft.spend_cap_usd}
          onValue={set('spend_cap_usd')}
          hint={`${usd(agent.spent_usd)} spent so far`}
          error={at('spend_cap_usd')}
        />
        <SelectField<Period>
          label="Per"
          disabled={!isMember}
          value={draft.spend_cap_period}
          onValue={set('spend_cap_period')}
          options={periods}
          error={at('spend_cap_period')}
        />
        <TextField
          label="Steps per run"
          inputMode="numeric"
          placeholder="default"
          value={draft.max_turns}
          onValue={set('max_turns')}
          error={at('max_turns')}
        />
      </div>
      <details className="mt-4" open={draft.output_schema !== '' || at('output_schema') !== null}>
        <summary className="w-fit text-sm text-quiet hover:text-ink">Structured output</summary>
        <div className="mt-3">
          <AreaField
            label="JSON Schema of the responses"
            optional
            mono
            rows={4}
            value={draft.output_schema}
            onValue={set('output_schema')}
            readOnly={isLocked}
            error={at('output_schema')}
          />
        </div>
      </details>
    </Section>
  )
}
