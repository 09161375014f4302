import { useState } from 'react'
import { uk } from '../../shared/api.ts'
import { FormDialog } from '../../ui/dialogs/form-dialog.tsx'
import { Field, TextField } from '../../ui/field.tsx'
import { useSend } from '../../ui/calls/send.ts'
import { typedNumber } from '../../ui/text/typed-number.ts'
import { whenChosen } from '../../shared/conversation/thread/choices.ts'
import type { Goal } from './queries.ts'

export function GoalDialog({
  chatId,
  goal,
  open,
  onOpen,
  onChange,
}: {
  chatId: string
  goal: Goal | null
  open: boolean
  onOpen: (open: boolean) => void
  onChange: () => void
}) {
  const [objective, setObjective] = useState('')
  const [criteria, setCriteria] = useState('')
  const [turns, setTurns] = useState(String(goal === null ? 25 : goal.max_turns + 25))
  const [cost, setCost] = useState(goal?.max_cost_usd == null ? '' : String(goal.max_cost_usd * 2))
  const sending = useSend(
    async () => {
      await whenChosen(chatId)
      const caps = {
        ...(turns !== '' && { max_turns: typedNumber(turns) }),
        ...(cost !== '' && { max_cost_usd: typedNumber(cost) }),
      }
      return goal === null
        ? uk.chats.start_goal({ id: chatId, objective, ...(criteria.trim() !== '' && { criteria }), ...caps })
        : uk.chats.resume_goal({ id: chatId, ...caps })
    },
    () => {
      onOpen(false)
      onChange()
    },
  )
  return (
    <FormDialog
      open={open}
      onOpen={onOpen}
      title={goal === null ? 'Set goal' : 'Continue goal'}
      about={
        goal === null
          ? 'The chat continues automatically, turn by turn, until a judge model finds the goal achieved or a limit is reached. You can leave the page.'
          : 'Each limit must be higher than before.'
      }
      sending={sending}
      fields={['objective', 'criteria', 'max_turns', 'max_cost_usd']}
      verb={goal === null ? 'Set goal' : 'Continue goal'}
      onSend={() => void sending.send(undefined)}
    >
      {goal === null && (
        <>
          <Field label="Goal" error={sending.at('objective')}>
            {(control) => (
              <textarea
                {...control}
                rows={3}
                value={objective}
                onChange={({ target }) => setObjective(target.value)}
                className="field field-sizing-content max-h-60"
              />
            )}
          </Field>
          <Field
            label="Success criteria"
            optional
            hint="How the judge model recognizes that the goal is achieved."
            error={sending.at('criteria')}
          >
            {(control) => (
              <textarea
                {...control}
                rows={2}
                value={criteria}
                onChange={({ target }) => setCriteria(target.value)}
                className="field field-sizing-content max-h-60"
              />
            )}
          </Field>
        </>
      )}
      <div className="grid gap-5 sm:grid-cols-2">
        <TextField
          label="Max. turns"
          inputMode="numeric"
          value={turns}
          onValue={setTurns}
          error={sending.at('max_turns')}
        />
        <TextField
          label="Max. cost in USD"
          optional
          inputMode="decimal"
          value={cost}
          onValue={setCost}
          error={sending.at('max_cost_usd')}
        />
      </div>
    </FormDialog>
  )
}
