# A renewal that was sent while the path was slow holds up what is sent after it on the
# same connection: the release has no reply, long after the path is well again.
nodes 1
processes 1
seed 234867683
regime network
max_ttl 29.954s
node_timeout 1.272s
delay 200us
jitter 0s
calm 35.9s
turn p1 name b ttl 29.954s hold 34.5s
at 26.6s slow p1 n1 by 11.8s for 466ms
