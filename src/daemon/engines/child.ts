export async function runEngine([engine, ...words]: readonly string[]): Promise<void> {
  if (engine === 'llama') return (await import('./llama/child.ts')).runLlama(words)
  if (engine === 'sherpa') return (await import('./sherpa/child.ts')).runSherpa(words)
  throw new Error('give the name of an engine: llama or sherpa')
}
