import { SelectField } from '../../ui/field.tsx'
import type { Send } from '../../ui/calls/send.ts'

const overlaps = [
  ['0', 'Immediately'],
  ['300', 'In 5 minutes'],
  ['3600', 'In 1 hour'],
  ['86400', 'In 1 day'],
  ['604800', 'In 1 week'],
] as const
export type Overlap = (typeof overlaps)[number][0]

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
