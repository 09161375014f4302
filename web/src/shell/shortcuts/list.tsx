import { Dialog } from '../../ui/dialogs/dialog.tsx'
import { CheckField } from '../../ui/field.tsx'
import { Keys } from '../../ui/text/kbd.tsx'
import { switchLetters, useLetters } from '../../shared/letters.ts'
import { showList, useBound } from './bound.ts'
import { type Shortcut, commandKey } from './keys.ts'

const GROUPS = ['Everywhere', 'Go to', 'Here'] as const
const always: Pick<Shortcut, 'keys' | 'says' | 'group'>[] = [
  { keys: `${commandKey} K`, says: 'Search or run a command', group: 'Everywhere' },
]
const inComposer = [
  ['Enter', 'Send'],
  ['Shift Enter', 'New line'],
  ['Esc', 'Stop the response'],
] as const

export default function List() {
  const on = useLetters()
  const bound = useBound()
  const all = [...always, ...bound]
  return (
    <Dialog open onOpen={showList} wide title="Keyboard shortcuts">
      <CheckField
        label="Single-key shortcuts"
        hint={`Applies outside of text fields. ${commandKey} K always works. Saved on this device.`}
        checked={on}
        onChecked={switchLetters}
      />
      <div className="mt-5 grid gap-x-10 gap-y-5 sm:grid-cols-2">
        {GROUPS.map((group) => {
          const some = all.filter((one) => one.group === group)
          return some.length === 0 ? null : (
            <section key={group} aria-label={group}>
              <h3 className="eyebrow mb-1.5">{group}</h3>
              <dl className="space-y-1 text-sm">
                {some.map(({ keys, says }) => (
                  <Line key={keys} keys={keys} says={says} off={!on && !keys.startsWith(commandKey)} />
                ))}
              </dl>
            </section>
          )
        })}
        <section aria-label="In a chat">
          <h3 className="eyebrow mb-1.5">Writing a message</h3>
          <dl className="space-y-1 text-sm">
            {inComposer.map(([keys, says]) => (
              <Line key={keys} keys={keys} says={says} off={false} />
            ))}
          </dl>
        </section>
      </div>
    </Dialog>
  )
}

const Line = ({ keys, says, off }: { keys: string; says: string; off: boolean }) => (
  <div className="flex items-baseline justify-between gap-4">
    <dt className={off ? 'text-quiet line-through' : ''}>{says}</dt>
    <dd>
      <Keys keys={keys} />
    </dd>
  </div>
)
