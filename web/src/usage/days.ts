export const dayOf = (at: number): string => new Date(at).toISOString().slice(0, 10)
export const daysUpTo = (today: string, count: number): string[] =>
  Array.from({ length: count }, (_, i) => dayOf(Date.parse(today) - (count - 1 - i) * 86_400_000))
