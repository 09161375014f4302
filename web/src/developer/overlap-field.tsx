import { SelectField } from '../ui/field.tsx'
import type { Send } from '../ui/send.ts'

const overlaps = [
  ['0', 'At once'],
  ['300', 'After 5 minutes'],
  ['3600', 'After an hour'],
  ['86400', 'After a day'],
  ['604800', 'After a week'],
] as const
/** Seconds. */
export type Overlap = (typeof overlaps)[number][0]

/** How long an old secret works beside the new one. */
export function OverlapField({
  sending,
  ...field
}: {
  label: string
  hint: string
  value: Overlap
  onValue: (overlap: Overlap) => void
  sending: Pick<Send<never, unknown>, 'at'>
}) {
  return <SelectField {...field} options={overlaps} error={sending.at('overlap_seconds')} />
}
