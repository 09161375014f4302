import { Endpoints } from './endpoints.tsx'
import { Serving } from './serving.tsx'

export function Providers() {
  return (
    <>
      <Endpoints />
      <Serving />
    </>
  )
}
