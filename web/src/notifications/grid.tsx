import { Gathered, Tick } from './cells.tsx'
import type { Channel, Preference } from './queries.ts'

const channels: readonly (readonly [Channel, string])[] = [
  ['in_app', 'App'],
  ['email', 'Email'],
  ['push', 'Push'],
]
/** Rows are kinds of notifications, columns are channels. The digest interval is set per kind. */
export function Grid({ preferences }: { preferences: readonly Preference[] }) {
  const kinds = [...Map.groupBy(preferences, ({ type }) => type)]
  return (
    <div className="border border-line border-t-keyline bg-sheet">
      <table className="w-full table-fixed text-sm" aria-label="Notification channels">
        <thead>
          <tr className="text-[0.8125rem] text-quiet">
            <th scope="col" className="px-4 py-2 text-left font-normal">
              Event
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
                  {mail?.enabled && <Gathered cell={mail} label={`Email: ${words}`} />}
                </th>
                {channels.map(([channel, name]) => {
                  const cell = row.find((one) => one.channel === channel)
                  return (
                    <td key={channel} className="text-center">
                      {cell && <Tick cell={cell} label={`${name}: ${words}`} />}
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
