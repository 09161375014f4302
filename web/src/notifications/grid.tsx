import type { Channel, Preference } from './queries.ts'
import { useWish } from './wish.ts'

const channels: readonly (readonly [Channel, string])[] = [
  ['in_app', 'App'],
  ['email', 'E-mail'],
  ['push', 'Push'],
]
const digests = [
  ['none', 'a mail each'],
  ['hourly', 'one mail an hour'],
  ['daily', 'one mail a day'],
] as const

/** Kinds down, ways across; how e-mail is gathered stands with the kind. */
export function Grid({ preferences }: { preferences: readonly Preference[] }) {
  const wish = useWish()
  const kinds = [...Map.groupBy(preferences, ({ type }) => type)]
  return (
    <div className="border border-line border-t-keyline bg-sheet">
      <table className="w-full table-fixed text-sm" aria-label="What you hear of, and where">
        <thead>
          <tr className="text-[0.8125rem] text-quiet">
            <th scope="col" className="px-4 py-2 text-left font-normal">
              When
            </th>
            {channels.map(([channel, name]) => (
              <th key={channel} scope="col" className="w-14 py-2 text-center font-normal sm:w-20">
                {name}
              </th>
            ))}
          </tr>
        </thead>
        <tbody>
          {kinds.map(([type, row]) => {
            const words = row[0]!.description ?? type
            const mail = row.find(({ channel }) => channel === 'email')
            return (
              <tr key={type} className="border-t border-line">
                <th scope="row" className="px-4 py-2.5 text-left font-normal break-words">
                  {words}
                  {mail?.enabled && (
                    <select
                      aria-label={`E-mail: ${words}`}
                      className="mt-1 block h-7 max-w-full rounded-xs border border-line bg-sheet px-1 text-[0.8125rem] text-quiet"
                      value={mail.digest}
                      onChange={({ target }) =>
                        wish({ type, channel: 'email', digest: target.value as Preference['digest'] })
                      }
                    >
                      {digests.map(([value, name]) => (
                        <option key={value} value={value}>
                          {name}
                        </option>
                      ))}
                    </select>
                  )}
                </th>
                {channels.map(([channel, name]) => {
                  const cell = row.find((one) => one.channel === channel)
                  return (
                    <td key={channel} className="text-center">
                      {cell && (
                        <label className="inline-grid size-10 place-items-center">
                          <input
                            type="checkbox"
                            className="size-4"
                            aria-label={`${name}: ${words}`}
                            checked={cell.enabled}
                            onChange={({ target }) => wish({ type, channel, enabled: target.checked })}
                          />
                        </label>
                      )}
                    </td>
                  )
                })}
              </tr>
            )
          })}
        </tbody>
      </table>
    </div>
  )
}
