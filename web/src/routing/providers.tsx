import { Endpoints } from './endpoints/endpoints.tsx'
import { Serving } from './serving.tsx'

export function Providers() {
  return (
    <>
      <Endpoints />
      <Serving />
    </>
  )
}
