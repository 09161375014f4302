import { contracts } from '#modules/contracts.ts'

export async function everyTool(): Promise<string[]> {
  const areas = await Promise.all(
    Object.entries(contracts).map(async ([area, load]) =>
      Object.keys((await load()).endpoints).map((verb) => `${area}.${verb}`),
    ),
  )
  return ['find', 'describe', 'do', ...areas.flat()].toSorted()
}
