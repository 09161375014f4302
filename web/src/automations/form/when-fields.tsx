import { TextField } from '../../ui/field.tsx'
import { Words } from '../../ui/text/words.tsx'
import type { Automation } from '../queries.ts'
import { everyZone } from '../zone.ts'
import type { AutomationDraft, When } from './draft.ts'
import { Firings } from './firings.tsx'
import type { Understood } from './plain-words.ts'

const ways: readonly (readonly [When, string])[] = [
  ['words', 'Plain English'],
  ['cron', 'Cron'],
  ['once', 'Once'],
  ['webhook', 'Webhook'],
]
const examples = ['every weekday at nine', 'every 15 minutes', 'on the 1st of every month at 8', 'tomorrow at 7:30 pm']

export function WhenFields({
  draft,
  set,
  kind,
  understood,
  error,
  zoneError,
}: {
  draft: AutomationDraft
  set: (change: Partial<AutomationDraft>) => void
  /** The kind of an existing automation can't change. */
  kind: Automation['kind'] | null
  understood: Understood | null
  error: string | null
  zoneError: string | null
}) {
  const schedule = understood !== null && 'schedule' in understood ? understood.schedule : ''
  return (
    <fieldset className="min-w-0">
      <legend className="mb-1 text-sm font-medium">Trigger</legend>
      <TriggerChoice draft={draft} set={set} kind={kind} schedule={schedule} />
      {draft.when === 'webhook' ? (
        <p className="text-sm text-quiet">
          Runs when its URL is called with the token, or with a signature made with the secret. Both are shown only
          once, after you create the automation.
        </p>
      ) : (
        <>
          <div className="grid gap-4 sm:grid-cols-2">
            <ScheduleField draft={draft} set={set} understood={understood} error={error} />
            <TextField
              label="Time zone"
              autoComplete="off"
              spellCheck={false}
              value={draft.time_zone}
              onValue={(time_zone) => set({ time_zone })}
              error={zoneError}
              list="when-zones"
            />
          </div>
          <datalist id="when-examples">
            {examples.map((one) => (
              <option key={one} value={one} />
            ))}
          </datalist>
          <datalist id="when-zones">
            {everyZone(draft.time_zone).map((one) => (
              <option key={one} value={one} />
            ))}
          </datalist>
          {schedule !== '' && (
            <div className="mt-3 border-l-2 border-line pl-3">
              {draft.when === 'words' && (
                <p className="mb-1 text-[0.8125rem] text-quiet">
                  {understood !== null &&
                    'assumed' in understood &&
                    understood.assumed !== null &&
                    `${understood.assumed} `}
                  <Words>{schedule.includes('T') ? `Once at \`${schedule}\`.` : `Cron: \`${schedule}\`.`}</Words>
                </p>
              )}
              <Firings schedule={schedule} timeZone={draft.time_zone} />
            </div>
          )}
        </>
      )}
    </fieldset>
  )
}

function TriggerChoice({
  draft,
  set,
  kind,
  schedule,
}: {
  draft: AutomationDraft
  set: (change: Partial<AutomationDraft>) => void
  kind: Automation['kind'] | null
  schedule: string
}) {
  const offered = ways.filter(([way]) => kind === null || (way === 'webhook') === (kind === 'webhook'))
  if (offered.length < 2) return null
  // Switching modes keeps the schedule already entered.
  const choose = (when: When): void =>
    set({
      when,
      ...(when === 'cron' && draft.cron === '' && !schedule.includes('T') && { cron: schedule }),
      ...(when === 'once' && draft.once === '' && schedule.includes('T') && { once: schedule }),
    })
  return (
    <div className="mb-3 flex flex-wrap gap-x-5 gap-y-1 text-sm">
      {offered.map(([way, words]) => (
        <label key={way} className="flex min-h-8 items-center gap-2">
          <input type="radio" name="when" value={way} checked={draft.when === way} onChange={() => choose(way)} />
          {words}
        </label>
      ))}
    </div>
  )
}

function ScheduleField({
  draft,
  set,
  understood,
  error,
}: {
  draft: AutomationDraft
  set: (change: Partial<AutomationDraft>) => void
  understood: Understood | null
  error: string | null
}) {
  switch (draft.when) {
    case 'words': {
      const why = understood !== null && 'why' in understood && draft.words.trim() !== '' ? understood.why : null
      return (
        <TextField
          label="Schedule"
          autoComplete="off"
          placeholder="every weekday at nine"
          value={draft.words}
          onValue={(words) => set({ words })}
          error={error ?? why}
          list="when-examples"
        />
      )
    }
    case 'cron':
      return (
        <TextField
          label="Cron"
          mono
          autoComplete="off"
          spellCheck={false}
          placeholder="0 9 * * 1-5"
          value={draft.cron}
          onValue={(cron) => set({ cron })}
          hint="Minute, hour, day, month, weekday; with six fields, the first is seconds."
          error={error}
        />
      )
    case 'once':
      return (
        <TextField
          label="Date and time"
          type="datetime-local"
          value={draft.once}
          onValue={(once) => set({ once })}
          error={error}
        />
      )
    case 'webhook':
      return null
  }
}
