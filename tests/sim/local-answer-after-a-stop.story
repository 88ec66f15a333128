# p1 stands still between its grant and the answer
# Its lease counts from the request: p2 is granted the name when the table says
# that the lease is over, and p1 stands still again, so that it renews nothing.
store local
processes 2
regime local
turn p1 name a ttl 2s think 100ms hold 4s
turn p2 name a ttl 2s think 500ms hold 100ms
at 50ms stop-in-call p1 number 6 for 1s
at 1.15s pause p1 for 1.5s
calm 6s
