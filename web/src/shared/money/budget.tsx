import { Link } from '@tanstack/react-router'
import { type Workspace, queryClient, uk } from '../api.ts'
import { type Period, capOf, periods } from './spend-cap.ts'
import { isManaged } from '../session.ts'
import { Button } from '../../ui/button.tsx'
import { useChanged } from '../../ui/typing/changed.ts'
import { SelectField, TextField } from '../../ui/field.tsx'
import { SpendMeter } from '../../ui/meter.tsx'
import { Refused } from '../../ui/notice.tsx'
import { Section } from '../../ui/page.tsx'
import { useSend } from '../../ui/calls/send.ts'
import { say } from '../../ui/toast/toast.tsx'
import { UnsavedWords } from '../../ui/dialogs/unsaved.tsx'

export function Budget({ workspace }: { workspace: Workspace }) {
  const { name, spent_usd, spend_cap_usd, spend_cap_period } = workspace
  return (
    <Section
      title={`Spend cap of ${name}`}
      about="Covers every model call in this workspace, in addition to the spend caps of keys and members."
    >
      <div className="border border-line border-t-keyline bg-sheet px-4 py-4">
        <div className="max-w-md">
          <SpendMeter spent={spent_usd} cap={spend_cap_usd} per={spend_cap_period} name={name} />
        </div>
        {isManaged(workspace) ? (
          <BudgetForm workspace={workspace} />
        ) : (
          <p className="mt-2 text-[0.8125rem] text-quiet">Admins can change this.</p>
        )}
        {workspace.kind === 'team' && (
          <p className="mt-3 border-t border-line pt-3 text-[0.8125rem] text-quiet">
            For the spend caps of individual members, see{' '}
            <Link to="/workspaces/$id" params={{ id: workspace.id }} className="link">
              the members of {name}
            </Link>
            .
          </p>
        )}
      </div>
    </Section>
  )
}

function BudgetForm({ workspace: { id, name, spend_cap_usd, spend_cap_period } }: { workspace: Workspace }) {
  const [cap, setCap, adoptCap] = useChanged(spend_cap_usd === null ? '' : String(spend_cap_usd))
  const [period, setPeriod, adoptPeriod] = useChanged<Period>(spend_cap_period)
  const { send, pending, at, rest, form } = useSend(uk.workspaces.update, async () => {
    await queryClient.invalidateQueries({ queryKey: ['workspaces'] })
    adoptCap()
    adoptPeriod()
    say(`Saved the spend cap of ${name}`)
  })
  return (
    <form
      ref={form}
      noValidate
      className="mt-4"
      onSubmit={(event) => {
        event.preventDefault()
        void send({ id, spend_cap_usd: capOf(cap), spend_cap_period: period })
      }}
    >
      <div className="flex flex-wrap items-start gap-4">
        <TextField
          label="Spend cap in USD"
          className="w-44"
          inputMode="decimal"
          placeholder="no cap"
          value={cap}
          onValue={setCap}
          error={at('spend_cap_usd')}
        />
        <SelectField
          label="Per"
          className="w-36"
          value={period}
          onValue={setPeriod}
          options={periods}
          error={at('spend_cap_period')}
        />
        <Button type="submit" pending={pending} className="mt-6 h-[2.375rem]!">
          Save spend cap
        </Button>
      </div>
      <div className="mt-2">
        <Refused>{rest('spend_cap_usd', 'spend_cap_period')}</Refused>
      </div>
      <UnsavedWords box={form} />
    </form>
  )
}
