# A push that is older than the last "queued"
# p1 reads it after the server has granted "a" to another client.
nodes 1
processes 6
seed 1540
regime clocks-right-rates
max_ttl 495ms
node_timeout 50ms
delay 780us
jitter 20us
calm 11s
turn p1 name b think 412ms ttl 495ms cancel 1.468ms
turn p1 name a think 740ms ttl 495ms
turn p1 name a ttl 495ms
turn p1 name a think 482ms ttl 495ms hold 119ms
turn p1 name a ttl 495ms
turn p1.2 name a think 858ms ttl 495ms cancel 316.217ms
turn p1.2 name b ttl 495ms
turn p1.2 name a,b think 43ms ttl 495ms
turn p1.2 name a,b ttl 495ms
turn p1.2 name a think 422ms ttl 495ms hold 19ms
turn p2 name b think 791ms ttl 495ms hold 101ms
turn p2 name b ttl 495ms hold 5ms
turn p2 name a think 504ms ttl 495ms hold 83.6ms
turn p2 name a ttl 495ms hold 35ms
turn p2.2 name a think 879ms ttl 495ms hold 100ms
turn p2.2 name a think 503ms ttl 495ms
turn p2.2 name a ttl 495ms hold 168ms
turn p2 name a,b think 713ms ttl 495ms
turn p3 name a think 935ms ttl 495ms hold 125ms
turn p3 name a think 850ms ttl 495ms hold 152ms
turn p3 name a think 188ms ttl 495ms
turn p3.2 name a think 657ms ttl 495ms hold 178ms
turn p3.2 name a think 767ms ttl 495ms cancel 169.364ms
turn p3.2 name b think 415ms ttl 495ms hold 119ms
turn p3.2 name a ttl 495ms hold 114ms
turn p3.2 name a think 145ms ttl 495ms hold 61ms
turn p4.2 name a,b think 834ms ttl 495ms hold 33.9ms
turn p4.2 name a ttl 495ms hold 127ms
turn p4.2 name b think 545ms ttl 495ms hold 169ms
turn p4.2 name a ttl 495ms hold 10.6ms
turn p4.2 name a,b think 21ms ttl 495ms
turn p5 name a,b think 723ms ttl 495ms hold 242ms
turn p5 name a,b think 24ms ttl 495ms hold 55.3ms
turn p5.2 name a think 969ms ttl 495ms hold 72ms
turn p5.2 name a,b think 151ms ttl 495ms hold 52ms
turn p6 name a think 1s ttl 495ms hold 669ms
turn p6 name a think 119ms ttl 495ms hold 67.7ms
turn p6.2 name b think 907ms ttl 495ms hold 55.4ms
turn p6.2 name a think 813ms ttl 495ms hold 115ms
at 2.55s crash p2 for 0s
at 2.92s ghost n1 by 4.74ms for 0s
at 3.03s slow n1 by 10.3ms for 521ms
at 3.49s partition p2,p3 for 202ms
at 4.43s slow p3 n1 by 157ms for 207ms
at 4.767242s deafness n1 for 417ms
at 5.03s deafness p4 n1 for 556ms
at 5.13s ghost n1 by 46.5ms for 340ms
at 6.01s deafness n1 for 1s
